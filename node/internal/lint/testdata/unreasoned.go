package unreasoned // float:

func shade(x float64) float64 { // want: float
	return x * 0.5 // want: float
}
