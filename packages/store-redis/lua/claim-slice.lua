--[[
  claim-slice: take the right to walk one slice for one lease.
  KEYS[1] slice lock  hash: owner (none: free), epoch, leaseUntil (ms of Redis' clock), done
  ARGV[1] owner   ARGV[2] leaseMs   ARGV[3] keepMs (how long the epoch outlives the lease)
  Returns n > 0 claimed, n is the epoch · 0 someone else holds it · -1 done
]]
local lock, owner, leaseMs, keepMs = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', lock, 'owner', 'epoch', 'leaseUntil', 'done')
local holder, epoch, leaseUntil = held[1], tonumber(held[2] or 0), tonumber(held[3] or 0)

if held[4] then return -1 end
if holder and holder ~= owner and leaseUntil > now then return 0 end
-- Only a new owner needs a new fence.
if holder ~= owner then epoch = epoch + 1 end
redis.call('HSET', lock, 'owner', owner, 'epoch', epoch, 'leaseUntil', string.format('%.0f', now + leaseMs))
redis.call('PEXPIRE', lock, leaseMs + keepMs)
return epoch
