package command

// Each of these commands changes data of one marketplace, which OfMarketplace returns.

// OfMarketplace returns the marketplace.
func (x *PutCategories) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *PutProducts) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *DeleteCatalog) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *PatchProducts) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *AdjustWallet) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *PatchCampaign) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *PutBids) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *PatchBid) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *StageSegment) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *CommitSegment) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *OpenAccount) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *Transfer) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *Reverse) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *LinkUsers) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *ForgetUser) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *DefineSegment) OfMarketplace() uint16 { return x.Marketplace }

// OfMarketplace returns the marketplace.
func (x *CreateCampaign) OfMarketplace() uint16 { return x.Campaign.Marketplace }
