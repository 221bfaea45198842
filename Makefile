# Thin names for people. The work is in cargo and in `cargo xtask`, whose folder says how.

# Set only where the toolchain of rust-toolchain.toml cannot be had.
toolchain := $(shell .ci/toolchain)
ifneq ($(toolchain),)
export RUSTUP_TOOLCHAIN := $(toolchain)
endif

.PHONY: help setup setup-tests setup-site setup-package demo demo-all test test-fast site package
.PHONY: install
.PHONY: bench fuzz swarm mutants soak

help:
	@echo 'make demo       build justfull and watch it keep a queue just full'
	@echo 'make demo-all   the main comparison of T20 on every channel that is there: 85 MB'
	@echo 'make test       everything a change must pass (installs what is missing; see .ci/setup)'
	@echo 'make test-fast  the part of it that takes under two minutes'
	@echo 'make site       the documentation of all versions, in target/site/html (installs mdBook)'
	@echo 'make package    .deb, static program, wheel and image in target/package, tried on a Debian'
	@echo 'make install    the C library for base stations, in PREFIX (/usr/local); DESTDIR as usual'
	@echo 'make bench      time the standard workload and the page against their floors'
	@echo 'make soak       hours: long tests, mutated inputs, fresh cases and worlds, fuzzing, mutants'
	@echo 'make fuzz       run each fuzz target for a minute (stable Rust, a C++ compiler)'
	@echo '                seeds: fuzz/seeds; with nightly also:'
	@echo '                cargo fuzz run trace fuzz/corpus/trace fuzz/seeds/trace'
	@echo 'make swarm      random worlds from fresh seeds for ten minutes, or as long as FOR=1h says'
	@echo 'make mutants    change the algorithms in one place; a test must fail'

setup:
	@.ci/setup

setup-tests:
	@.ci/setup --tests

setup-site: setup
	@.ci/setup --site

setup-package: setup
	@.ci/setup --package

# Only what it shows is built. The commands that it leaves out say which feature has them; `cargo
# build --release` has all.
demo: setup
	cargo run --release --quiet --package justfull --no-default-features -- demo

demo-all: setup
	cargo run --release --quiet --package justfull --no-default-features -- demo --all

test test-fast: export RUSTC_WORKSPACE_WRAPPER := $(CURDIR)/.ci/rustc
test: setup-tests
	cargo xtask ci

test-fast: setup
	cargo xtask ci --fast

site: setup-site
	cargo xtask site

package: setup-package
	cargo xtask package

# ARCHIVE is a libjustfull.a that was built before.
install: setup
	$(if $(ARCHIVE),,cargo build --release --quiet --package justfull-c --lib)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' \
		crates/c/install.sh $(or $(ARCHIVE),target/release/libjustfull.a)

bench: setup
	cargo xtask bench
	cargo xtask bench page

fuzz: setup
	cargo xtask fuzz

soak: setup-tests setup-site setup-package
	cargo xtask soak

swarm: setup
	cargo xtask swarm --for $(or $(FOR),10m)

mutants: setup
	cargo xtask mutants
