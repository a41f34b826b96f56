module hoplite

go 1.19
