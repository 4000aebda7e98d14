-- SPDX-License-Identifier: MIT
-- since 5
-- Every call that moves data between ranks, in the order of its number.
SELECT id, datatype, comm, comm_size, bytes FROM rtl_collective_base ORDER BY id;
