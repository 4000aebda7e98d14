# SPDX-License-Identifier: MIT
# rtl_store: the store thread. rtl_store_faults: the same with the places where tests kill it.
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3>=3.40)

set(store_folder ${CMAKE_CURRENT_LIST_DIR})
file(GLOB store_migrations CONFIGURE_DEPENDS ${store_folder}/schema/*.sql)
string(REPLACE ";" "|" store_migrations_argument "${store_migrations}")
set(store_embedded ${CMAKE_CURRENT_BINARY_DIR}/gen/migrations.c)
add_custom_command(
	OUTPUT ${store_embedded}
	COMMAND ${CMAKE_COMMAND} -DOUTPUT=${store_embedded} "-DFILES=${store_migrations_argument}"
		-P ${store_folder}/embed_sql.cmake
	DEPENDS ${store_migrations} ${store_folder}/embed_sql.cmake
	VERBATIM)

# What a new database begins as. Made by the build, from the migrations.
set(store_image ${CMAKE_CURRENT_BINARY_DIR}/gen/schema_image.c)
add_executable(schema-image ${store_folder}/schema_image.c ${store_embedded})
target_link_libraries(schema-image PRIVATE rtl_flags PkgConfig::SQLITE)
add_custom_command(OUTPUT ${store_image} COMMAND schema-image > ${store_image}
	DEPENDS schema-image VERBATIM)

set(store_sources ${store_embedded} ${store_image})
foreach(name answer arguments aside cache command defines drain drain_events drain_slots feed feed_file
		hash heap held in_flight index index_removed index_totals ingest_calls ingest_copies ingest_markers
		ingest_quota intern ledger ledger_rows look losses metric migrate over_quota pace patience post process
		process_clock quota recorder_books recorder_reader recording recover
		retention_tell room session_row stat statements storage store text tick_line trouble wal
		verdict work)
	list(APPEND store_sources ${store_folder}/${name}.c)
endforeach()
set(store_faults checkpoint.c close.c database.c ingest.c removal.c renew.c retention.c session_file.c turns.c
	writer.c)
list(TRANSFORM store_faults PREPEND ${store_folder}/)

rtl_twins(rtl_store SOURCES ${store_sources} FAULTS ${store_faults}
	LIBS rtl_flags rtl_proto_shared Threads::Threads)
foreach(target rtl_store rtl_store_faults rtl_store_both)
	target_link_libraries(${target} PRIVATE PkgConfig::SQLITE -l:libiberty.a acl)
endforeach()
