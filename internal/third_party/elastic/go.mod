module github.com/olivere/elastic/v7

go 1.26.8
