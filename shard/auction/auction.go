// Package auction decides who wins, in what order, at what price. It is a pure function of the market view, the budget
// balances, the request, the time and the auction's number, and allocates nothing.
package auction
