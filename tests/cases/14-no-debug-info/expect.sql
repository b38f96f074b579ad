-- SPDX-License-Identifier: MIT
--
-- No DWARF at all. Names come from the symbol table, static functions among them, in the right order.
--
-- flags: -g0 -O1
-- tracking: auto

-- rows
SELECT count(*) FROM located a
WHERE size=7753 AND EXISTS(SELECT 1 FROM backtraces b WHERE b.id=a.bt AND b.sym LIKE '%hidden_static%');
-- expect: 44

-- closed
SELECT count(*) FROM allocations WHERE size=7753 AND dealloc_after IS NOT NULL;
-- expect: 11

-- order
SELECT count(*) FROM allocations a
JOIN first f0 ON f0.bt=a.bt AND f0.sym LIKE '%hidden_static%'
JOIN first f1 ON f1.bt=a.bt AND f1.sym LIKE '%visible_global%'
JOIN first f2 ON f2.bt=a.bt AND f2.sym LIKE 'main'
WHERE size=7753 AND f0.frame_no < f1.frame_no AND f1.frame_no < f2.frame_no;
-- expect: 44
