package command

// Each of these commands changes data of one marketplace, which Of returns.

// Of returns the marketplace.
func (x *PutCategories) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *PutProducts) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *DeleteCatalog) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *PatchProducts) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *AdjustWallet) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *PatchCampaign) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *PutBids) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *PatchBid) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *StageSegment) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *CommitSegment) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *OpenAccount) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *Transfer) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *Reverse) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *LinkUsers) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *ForgetUser) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *DefineSegment) Of() uint16 { return x.Marketplace }

// Of returns the marketplace.
func (x *CreateCampaign) Of() uint16 { return x.Campaign.Marketplace }
