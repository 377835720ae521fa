import { loadScript, withoutUnused } from './scripts.js';

describe(withoutUnused, () => {
  test('leaves out what nothing refers to, and then what only that used', () => {
    const source = `--[[ Uses one and never three. ]]
local function one() return 1 end
-- Needed by three.
local function two()
  if one() == 2 then return end
  return 2
end
local function three(value) return two() + value end -- as two
local function four()
  return one()
end
return four()
`;
    expect(withoutUnused(source)).toBe(`--[[ Uses one and never three. ]]
local function one() return 1 end
-- Needed by three.
local function four()
  return one()
end
return four()
`);
  });

  test('leaves out names of keys that nothing refers to', () => {
    const source = `local log_key = record_key .. ':log'
local inbox_key = record_key .. ':inbox'
return inbox_key
`;
    expect(withoutUnused(source)).toBe(`local inbox_key = record_key .. ':inbox'\nreturn inbox_key\n`);
  });

  test('leaves a script alone that uses all of its functions', () => {
    const source = 'local function one() return 1 end\nreturn one()\n';
    expect(withoutUnused(source)).toBe(source);
  });
});

describe(loadScript, () => {
  test('makes a function of what follows the shared part of scripts on threads, and leaves other scripts as they are', () => {
    const { source } = loadScript('runs/finish');

    expect(source).toMatch(/^#!lua flags=allow-oom\n/);
    expect(source.match(/^local function body\(\)$/gm)).toHaveLength(1);
    expect(source.indexOf('local function read_hash')).toBeLessThan(source.indexOf('local function body()'));
    expect(source).toMatch(/\nend\nreturn body\(\)\n$/);
    expect(loadScript('usage/check-budget').source).not.toContain('body()');
  });
});
