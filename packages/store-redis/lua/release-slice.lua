--[[
  release-slice: give our claim back at once. The epoch stays, so that the next owner gets a higher one.
  KEYS[1] slice lock
  ARGV[1] owner   ARGV[2] epoch
  Returns 1 released · 0 was not ours
]]
local lock, owner, epoch = KEYS[1], ARGV[1], ARGV[2]
local held = redis.call('HMGET', lock, 'owner', 'epoch')

if held[1] ~= owner or held[2] ~= epoch then return 0 end
redis.call('HDEL', lock, 'owner', 'leaseUntil')
return 1
