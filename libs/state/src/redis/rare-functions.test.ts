import { withRareFunctions } from './rare-functions.js';

const SCRIPT = `#!lua
-- Says what drop() does.
local key = KEYS[1]
local function text(value) return tostring(value) end
local function helper(value)
  return text(value)
end
-- @rare
local function drop(value)
  return helper(value)
end
local function step(value)
  if value then return drop(value) end
  return text(value)
end
local job = { drop = 1 }
return step(job.drop)
`;

describe(withRareFunctions, () => {
  test('makes rare functions, and what only they use, in one function before the first statement that may call them', () => {
    expect(withRareFunctions(SCRIPT)).toBe(`#!lua
-- Says what rare().drop() does.
local key = KEYS[1]
local rare
local function text(value) return tostring(value) end
local function step(value)
  if value then return rare().drop(value) end
  return text(value)
end
local rare_functions
local function make_rare()
  local function helper(value)
    return text(value)
  end
  local function drop(value)
    return helper(value)
  end
  rare_functions = { helper = helper, drop = drop }
  return rare_functions
end
function rare() return rare_functions or make_rare() end
local job = { drop = 1 }
return step(job.drop)
`);
  });

  test('leaves those alone that are defined after a statement that may call one', () => {
    const late = `local function a() return 1 end
if a() then
  a()
end
-- @rare
local function b() return a() end
return b()
`;
    expect(withRareFunctions(`-- @rare\n${late}`)).toContain('function rare()');
    expect(withRareFunctions(`-- @rare\n${late}`)).toMatch(
      /^end\nfunction rare\(\)[^]*^if rare\(\)\.a\(\) then\n {2}rare\(\)\.a\(\)[^]*^local function b\(\)/m,
    );
  });

  test('takes a block as one statement, and the functions of a table as no statement', () => {
    const source = `local job = {}
-- @rare
local function a() return 1 end
function job.run()
  return a()
end
local function b() return 2 end
if b() == 2 then
  b()
  a()
end
`;
    const made = withRareFunctions(source);
    expect(made.indexOf('function rare()')).toBeGreaterThan(made.indexOf('local function b()'));
    expect(made.indexOf('function rare()')).toBeLessThan(made.indexOf('if b() == 2'));
    expect(made).toContain('function job.run()\n  return rare().a()\nend\n');
  });

  test('leaves a script alone that has none', () => {
    const source = 'local function a() return 1 end\nreturn a()\n';
    expect(withRareFunctions(source)).toBe(source);
  });

  test('refuses a function that would refer to another variable there', () => {
    const source = `local job = 1
-- @rare
local function a() return job end
local job = 2
return a() + job
`;
    expect(() => withRareFunctions(source)).toThrow('the rare function a would refer to another variable "job"');
  });
});
