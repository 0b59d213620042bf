package auction

// groupsMax is one more than the largest id of a raft group: the meta group and 256 data groups.
const groupsMax = 257

// Groups is a set of raft groups, as market.CampaignRow numbers them. The zero value is empty.
type Groups [(groupsMax + 63) / 64]uint64

// Add puts a group into the set. REQUIRES: the group is below 257.
func (g *Groups) Add(group uint16) { g[group/64] |= 1 << (group % 64) }

// Has reports whether the group is in the set.
func (g *Groups) Has(group uint16) bool { return g[group/64]>>(group%64)&1 != 0 }
