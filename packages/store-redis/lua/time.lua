--[[
  time: the shared clock. A script, so that on a Cluster its key leads every node to the same Redis.
  KEYS[1] clock (no value)
  Returns seconds, microseconds
]]
return redis.call('TIME')
