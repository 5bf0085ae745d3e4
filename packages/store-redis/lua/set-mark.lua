--[[
  set-mark: replace the index mark if it still is what the caller saw.
  KEYS[1] mark
  ARGV[1] new mark   ARGV[2] expected, '' for none
  Returns the mark that stands afterwards, '' for none
]]
local key, mark, expected = KEYS[1], ARGV[1], ARGV[2]
local standing = redis.call('GET', key) or ''

if standing ~= expected then return standing end
redis.call('SET', key, mark)
return mark
