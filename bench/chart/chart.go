// Package chart writes line and dot charts as SVG. A chart is a value: axes, series, and text; Write fits it into a
// fixed size. The colours are those of Okabe and Ito, which people with any colour vision can tell apart.
package chart

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart is one chart.
type Chart struct {
	Title, Subtitle string
	X, Y            Axis
	Series          []Series // BOUND: with more than the colours there are, colours repeat.
}

// Axis is a scale. Values outside Min and Max are cut off.
type Axis struct {
	Title    string
	Min, Max float64
	Log      bool // REQUIRES: Min is above 0.
	Ticks    []float64
	Format   func(float64) string // Nil: the shortest text.
}

// Point is a pair of values.
type Point struct{ X, Y float64 }

// Series is a line, or dots.
type Series struct {
	Name   string // Empty: one of many, a thin grey line without a row in the legend.
	Points []Point
	Dots   bool
	Dashed bool // A line that is not a measurement, for example a plan.
}

const (
	width, height          = 860., 440.
	left, right            = 64., 196.
	top, bottom            = 58., 52.
	plotWidth, plotHeight  = width - left - right, height - top - bottom
	legendRow, legendWidth = 20., 22.
)

var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

const (
	referenceColour = "#555555"
	crowdColour     = "#b8c4d0"
)

// Write writes the chart.
func (c *Chart) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="Helvetica, Arial, sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprintf(b, `<rect width="%g" height="%g" fill="#ffffff"/>`+"\n", width, height)
	text(b, left, 24, "start", `font-size="16" font-weight="bold" fill="#222222"`, c.Title)
	text(b, left, 43, "start", `fill="#555555"`, c.Subtitle)
	fmt.Fprintf(b, `<clipPath id="plot"><rect x="%g" y="%g" width="%g" height="%g"/></clipPath>`+"\n", left, top, plotWidth, plotHeight)
	c.axes(b)
	for i := range slices.Backward(c.Series) { // The first series is painted over the others.
		c.series(b, i)
	}
	c.legend(b)
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

// axes writes ticks, grid and titles.
func (c *Chart) axes(b *bufio.Writer) {
	for _, tick := range c.Y.Ticks {
		y := c.y(tick)
		fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%s" y2="%s" stroke="#e3e3e3"/>`+"\n", left, left+plotWidth, short(y), short(y))
		text(b, left-8, y+4, "end", `fill="#333333"`, c.Y.text(tick))
	}
	for _, tick := range c.X.Ticks {
		x := c.x(tick)
		fmt.Fprintf(b, `<line x1="%s" x2="%s" y1="%g" y2="%g" stroke="#999999"/>`+"\n", short(x), short(x), top+plotHeight, top+plotHeight+5)
		text(b, x, top+plotHeight+19, "middle", `fill="#333333"`, c.X.text(tick))
	}
	fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%g" y2="%g" stroke="#999999"/>`+"\n", left, left+plotWidth, top+plotHeight, top+plotHeight)
	text(b, left+plotWidth/2, height-12, "middle", `fill="#333333"`, c.X.Title)
	y := top + plotHeight/2
	text(b, 16, y, "middle", fmt.Sprintf(`fill="#333333" transform="rotate(-90 16 %g)"`, y), c.Y.Title)
}

// series writes the line or the dots of a series.
func (c *Chart) series(b *bufio.Writer, i int) {
	s := &c.Series[i]
	if s.Dots {
		for _, p := range s.Points {
			fmt.Fprintf(b, `<circle clip-path="url(#plot)" cx="%s" cy="%s" r="2.6" fill="%s" fill-opacity="0.6"/>`+"\n", short(c.x(p.X)), short(c.y(p.Y)), c.colour(i))
		}
		return
	}
	var path strings.Builder
	for k, p := range s.Points {
		command := "L"
		if k == 0 {
			command = "M"
		}
		path.WriteString(command + short(c.x(p.X)) + " " + short(c.y(p.Y)))
	}
	dash, thick := "", 1.8
	if s.Dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	if s.Name == "" {
		thick = 0.7
	}
	fmt.Fprintf(b, `<path clip-path="url(#plot)" d="%s" fill="none" stroke="%s" stroke-width="%g" stroke-linejoin="round"%s/>`+"\n", path.String(), c.colour(i), thick, dash)
}

// legend writes the names of the series beside the plot.
func (c *Chart) legend(b *bufio.Writer) {
	x := left + plotWidth + 16
	row := 0.
	for i := range c.Series {
		if c.Series[i].Name == "" {
			continue
		}
		y := top + 8 + row*legendRow
		row++
		if c.Series[i].Dots {
			fmt.Fprintf(b, `<circle cx="%g" cy="%g" r="4" fill="%s"/>`+"\n", x+legendWidth/2, y, c.colour(i))
		} else {
			dash := ""
			if c.Series[i].Dashed {
				dash = ` stroke-dasharray="6 4"`
			}
			fmt.Fprintf(b, `<line x1="%g" x2="%g" y1="%g" y2="%g" stroke="%s" stroke-width="2.5"%s/>`+"\n", x, x+legendWidth, y, y, c.colour(i), dash)
		}
		text(b, x+legendWidth+6, y+4, "start", `fill="#222222"`, c.Series[i].Name)
	}
}

// colour returns the colour of a series: grey for what is no measurement and for one of many, else the next of the list.
func (c *Chart) colour(i int) string {
	switch {
	case c.Series[i].Name == "":
		return crowdColour
	case c.Series[i].Dashed:
		return referenceColour
	}
	measured := 0
	for k := range i {
		if !c.Series[k].Dashed && c.Series[k].Name != "" {
			measured++
		}
	}
	return colours[measured%len(colours)]
}

func (c *Chart) x(v float64) float64 { return left + c.X.part(v)*plotWidth }
func (c *Chart) y(v float64) float64 { return top + (1-c.Y.part(v))*plotHeight }

// part returns the position of a value on the axis, 0 to 1 inside of it.
func (a *Axis) part(v float64) float64 {
	if a.Log {
		return math.Log(max(v, a.Min/10)/a.Min) / math.Log(a.Max/a.Min)
	}
	return (v - a.Min) / (a.Max - a.Min)
}

func (a *Axis) text(v float64) string {
	if a.Format != nil {
		return a.Format(v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Percent is the format of shares.
func Percent(v float64) string { return strconv.FormatFloat(100*v, 'f', -1, 64) + " %" }

// short returns a coordinate with one decimal, which is finer than a pixel.
func short(v float64) string {
	v = min(max(v, -1e5), 1e5)
	if math.IsNaN(v) {
		v = 0
	}
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func text(b *bufio.Writer, x, y float64, anchor, attributes, content string) {
	fmt.Fprintf(b, `<text x="%s" y="%s" text-anchor="%s" %s>%s</text>`+"\n", short(x), short(y), anchor, attributes, html.EscapeString(content))
}
