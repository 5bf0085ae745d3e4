--[[
  close-slice: turn our claim into the done mark.
  KEYS[1] slice lock
  ARGV[1] owner   ARGV[2] epoch   ARGV[3] keepMs (how long the mark stays)
  Returns 1 done · 0 no longer ours
]]
local lock, owner, epoch, keepMs = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local held = redis.call('HMGET', lock, 'owner', 'epoch')

if held[1] ~= owner or held[2] ~= epoch then return 0 end
redis.call('HDEL', lock, 'owner', 'leaseUntil')
redis.call('HSET', lock, 'done', 1)
redis.call('PEXPIRE', lock, keepMs)
return 1
