--[[
  end-fill: mark a bucket as filled, if the filling that ends is the last one begun and nothing was lost since.
  KEYS[1] mark of the bucket
  ARGV[1] token   ARGV[2] what marks it filled   ARGV[3] keepMs (how long the mark stays)
  Returns 1 filled · 0 lost, begun again or ended already
]]
local mark, token, filled, keepMs = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

if redis.call('GET', mark) ~= token then return 0 end
redis.call('SET', mark, filled, 'PX', keepMs)
return 1
