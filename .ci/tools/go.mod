module github.com/onefold/onefold/.ci/tools

go 1.26.0
