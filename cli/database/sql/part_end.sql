-- SPDX-License-Identifier: MIT
-- do
-- All of the file again.
DROP VIEW IF EXISTS temp.rtl_dispatch;
DROP VIEW IF EXISTS temp.rtl_marker;
DROP VIEW IF EXISTS temp.rtl_copy_base;
DROP TABLE IF EXISTS temp.rtl_call_base;
DROP TABLE IF EXISTS temp.rtl_collective_base;
DROP TABLE IF EXISTS temp.rtl_part;
