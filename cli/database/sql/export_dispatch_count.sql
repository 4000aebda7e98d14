-- SPDX-License-Identifier: MIT
-- How many dispatches are there, whatever the ledger says.
SELECT count(*) FROM rtl_dispatch;
