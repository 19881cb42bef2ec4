module github.com/smol-machines/smol-go

go 1.26.8
