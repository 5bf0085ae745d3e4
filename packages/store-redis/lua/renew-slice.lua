--[[
  renew-slice: extend a claim that is still ours. A lease that lapsed but that nobody took is ours still.
  KEYS[1] slice lock
  ARGV[1] owner   ARGV[2] epoch   ARGV[3] leaseMs   ARGV[4] keepMs
  Returns 1 extended · 0 lost
]]
local lock, owner, epoch, leaseMs, keepMs = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local held = redis.call('HMGET', lock, 'owner', 'epoch')

if held[1] ~= owner or held[2] ~= epoch then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', lock, 'leaseUntil', string.format('%.0f', now + leaseMs))
redis.call('PEXPIRE', lock, leaseMs + keepMs)
return 1
