-- SPDX-License-Identifier: MIT
--
-- The database that rheaper-rip makes of a profile. Times are milliseconds since tracking began (of the earliest process), down to
-- nanoseconds. Addresses are 64-bit patterns: one above 2^63 shows as a negative number. A number of allocations or bytes in a summary
-- is an estimate of the whole when the profile is a sample (metadata.sampled): the sum of the weights.

PRAGMA application_id = 0x52485052;
PRAGMA user_version = 2;

-- One row an allocation, in order of alloc_after.
CREATE TABLE allocations(
  alloc_after REAL,        -- ms
  dealloc_after REAL,      -- ms; NULL = live at the end of the profile
  bt INTEGER,              -- backtraces.id
  size INTEGER,            -- bytes asked for
  addr INTEGER,
  alloc_thread INTEGER,    -- threads.id
  dealloc_thread INTEGER,
  process INTEGER,         -- processes.id
  call INTEGER,            -- calls.id
  ended INTEGER,           -- NULL live, 0 free, 1 realloc, 2 its address came back without a free that was seen:
                           -- dealloc_after is then the successor's alloc_after
  weight REAL              -- how many allocations this row stands for
);

CREATE TABLE metadata(key TEXT PRIMARY KEY, value);
CREATE TABLE calls(id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE marks(t REAL, process INTEGER, thread INTEGER, name TEXT);
CREATE TABLE losses(process INTEGER, thread INTEGER, kind TEXT, count INTEGER);

CREATE TABLE processes(
  id INTEGER PRIMARY KEY,
  pid INTEGER,
  parent INTEGER,          -- pid of the parent
  host TEXT,
  boot_id TEXT,
  exe TEXT,
  cmdline TEXT,            -- arguments, a blank between two
  started REAL,            -- ms since 1970-01-01 UTC
  duration REAL,           -- ms
  ended TEXT,              -- 'disabled': tracking was switched off; 'exit': the process was on its way out; 'exec': another profile given here
                           -- has what followed; 'killed': no word of an end, and the process is gone; 'unknown': no word, and it may run
  frontend TEXT,
  backend TEXT,
  sample_rate REAL,
  sample_interval INTEGER,
  truncated INTEGER,       -- 1: a part of the log is damaged or missing
  parent_process INTEGER,  -- processes.id of the parent, if it is one of those here
  unmatched_frees INTEGER  -- frees of blocks that this process did not allocate while it was tracked: older ones, or inherited by fork
);

CREATE TABLE threads(id INTEGER PRIMARY KEY, process INTEGER, tid INTEGER, name TEXT, first REAL, last REAL);

CREATE TABLE modules(
  id INTEGER PRIMARY KEY,
  process INTEGER,
  path TEXT,
  build_id TEXT,           -- hexadecimal
  base INTEGER,            -- load bias: address - link-time address
  start INTEGER,
  "end" INTEGER,
  loaded REAL,             -- ms; when it was first seen
  unloaded REAL,
  debug_file TEXT,
  status TEXT              -- how the search for its symbols went
);

-- Behind the view backtraces: what a frame of a stack is ...
CREATE TABLE locations(
  id INTEGER PRIMARY KEY, file TEXT, line INTEGER, sym TEXT, module TEXT, addr INTEGER, inlined INTEGER);
-- ... which frames a stack has, innermost first, and which of them is the innermost of the user's own.
CREATE TABLE frames(bt INTEGER, frame_no INTEGER, location INTEGER, PRIMARY KEY(bt, frame_no)) WITHOUT ROWID;
CREATE TABLE stacks(bt INTEGER PRIMARY KEY, user_frame INTEGER);

CREATE VIEW backtraces(id, frame_no, file, line, sym, module, addr, inlined) AS
  SELECT f.bt, f.frame_no, l.file, l.line, l.sym, l.module, l.addr, l.inlined
  FROM frames f LEFT JOIN locations l ON l.id = f.location;

CREATE TABLE callsites(
  bt INTEGER PRIMARY KEY,
  allocations NUMERIC, bytes NUMERIC,
  live NUMERIC, live_bytes NUMERIC,          -- at the end of the profile
  peak NUMERIC, peak_bytes NUMERIC,          -- held at the moment of the highest total
  temporary NUMERIC, temporary_bytes NUMERIC, -- ended by the same thread before its next allocation
  lifetime_min REAL, lifetime_avg REAL, lifetime_max REAL -- ms, of the blocks whose end was seen
);

CREATE TABLE timeline(
  t REAL,                                    -- ms; the end of a step
  live NUMERIC, live_bytes NUMERIC,          -- at that time
  allocated NUMERIC, allocated_bytes NUMERIC, freed NUMERIC, freed_bytes NUMERIC, -- within the step
  rss_bytes INTEGER                          -- last known resident set of all processes
);

CREATE TABLE sizes(size_from INTEGER, size_to INTEGER, allocations NUMERIC, bytes NUMERIC); -- both ends included
CREATE TABLE lifetimes(from_ms REAL, to_ms REAL, allocations NUMERIC, bytes NUMERIC);       -- to_ms excluded

-- One row a call site with the innermost function of the user's own, sorted, ready to read.
CREATE VIEW top AS
  SELECT c.bt, c.bytes, c.allocations, l.sym, l.file, l.line
  FROM callsites c LEFT JOIN stacks s ON s.bt = c.bt LEFT JOIN frames f ON f.bt = s.bt AND f.frame_no = s.user_frame
  LEFT JOIN locations l ON l.id = f.location
  ORDER BY c.bytes DESC, c.bt;
CREATE VIEW leaks AS
  SELECT c.bt, c.live_bytes, c.live, l.sym, l.file, l.line
  FROM callsites c LEFT JOIN stacks s ON s.bt = c.bt LEFT JOIN frames f ON f.bt = s.bt AND f.frame_no = s.user_frame
  LEFT JOIN locations l ON l.id = f.location
  WHERE c.live > 0 ORDER BY c.live_bytes DESC, c.bt;
CREATE VIEW peak AS
  SELECT c.bt, c.peak_bytes, c.peak, l.sym, l.file, l.line
  FROM callsites c LEFT JOIN stacks s ON s.bt = c.bt LEFT JOIN frames f ON f.bt = s.bt AND f.frame_no = s.user_frame
  LEFT JOIN locations l ON l.id = f.location
  WHERE c.peak > 0 ORDER BY c.peak_bytes DESC, c.bt;
CREATE VIEW temporary AS
  SELECT c.bt, c.temporary, c.temporary_bytes, c.allocations, l.sym, l.file, l.line
  FROM callsites c LEFT JOIN stacks s ON s.bt = c.bt LEFT JOIN frames f ON f.bt = s.bt AND f.frame_no = s.user_frame
  LEFT JOIN locations l ON l.id = f.location
  WHERE c.temporary > 0 ORDER BY c.temporary DESC, c.bt;
