package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/bench/chart"
)

// A chart is well-formed, contains its texts escaped, and puts values where the axes say.
func TestWrite(t *testing.T) {
	c := chart.Chart{
		Title: `a < b & "c"`, Subtitle: "below",
		X: chart.Axis{Title: "x", Min: 1, Max: 100, Log: true, Ticks: []float64{1, 10, 100}},
		Y: chart.Axis{Title: "y", Max: 1, Ticks: []float64{0, 0.25, 1}, Format: chart.Percent},
		Series: []chart.Series{
			{Name: "plan", Dashed: true, Points: []chart.Point{{X: 1, Y: 0}, {X: 10, Y: 1}, {X: 0, Y: math.NaN()}}},
			{Name: "", Points: []chart.Point{{X: 1, Y: 0}, {X: 100, Y: 0}}},
			{Name: "dots", Dots: true, Points: []chart.Point{{X: 100, Y: 0.5}}},
		},
	}
	var b strings.Builder
	if err := c.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
	for _, want := range []string{
		"a &lt; b &amp; &#34;c&#34;", ">25 %<", ">dots<", `stroke-dasharray`,
		"M64 388L364 58",    // The middle of a logarithmic axis from 1 to 100 is 10.
		`cx="664" cy="223"`, // The right end, and half of the height.
		`fill="#0072b2"`,    // The first colour is that of the first measured series.
		`stroke="#555555"`,  // What is no measurement is grey.
		`d="M64 388L664 388" fill="none" stroke="#b8c4d0" stroke-width="0.7"`, // So is one of many, which has no name,
		`cy="86"`,            // and no row in the legend: this is the second one.
		"clip-path=\"url(#p", // Values outside of the axes are cut off.
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a coordinate is no number")
	}
}
