-- SPDX-License-Identifier: MIT
--
-- free(NULL), blocks of zero bytes, sizes that overflow. malloc(0) is a row of size 0. calloc records the product. What returned NULL
-- left no row.
--
-- flags: -g -O0
-- tracking: auto

-- malloc(0)
SELECT count(*) FROM located WHERE size=0 AND function LIKE '%zero%' AND function NOT LIKE '%czero%';
-- expect: 7

-- calloc(0,n) closed
SELECT count(*) FROM located WHERE size=0 AND function LIKE '%czero%' AND dealloc_after IS NOT NULL;
-- expect: 5

-- calloc size is n*m
SELECT count(*) FROM allocations WHERE size=7491;
-- expect: 4

-- closed
SELECT count(*) FROM allocations WHERE size=7491 AND dealloc_after IS NOT NULL;
-- expect: 3

-- none at NULL
SELECT count(*) FROM allocations WHERE addr=0;
-- expect: 0

-- no failed rows
SELECT count(*) FROM allocations WHERE size > 1000000000000;
-- expect: 0
