# Builds and runs everything. `make help` lists the targets; config.mk holds what you may set.
#
# A binary is build/STEP/PROGRAM-BACKEND. Steps and programs are found, not listed: a step is a
# folder of steps/ with a step.mk, a program a folder of common/ with a program.mk. The back-ends
# are declared in common/backends.mk, and a step names those that it has in its step.mk.

include config.mk
ifneq ($(words $(BUILD))$(findstring :,$(BUILD))$(findstring %,$(BUILD))$(filter -%,$(BUILD)),1)
$(error BUILD=$(BUILD): expected the name of a folder without blanks, : and %, and without - \
        at its beginning)
endif
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:
.SECONDEXPANSION:

# Runs as many jobs as there are processors; -j says otherwise. A make that is called by
# another one shares its jobs, and is called with JOBS= for that.
JOBS ?= $(or $(shell nproc 2>/dev/null),$(shell getconf _NPROCESSORS_ONLN 2>/dev/null),1)
MAKEFLAGS += $(addprefix -j,$(JOBS))

# Prints the name of each file that is made; make V=1 prints the commands.
ifndef V
.SILENT:
endif
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo '  $@'); mkdir -p $(@D)

# What to build and run; tools read these, and their own, from the environment.
# WITHOUT=05.3 adds STEP=05-3, the step without this rung.
STEP ?=
PROGRAM ?=
BACKEND ?=
SET ?=
ARGS ?=
RUNGS ?=
export BUILD PYTHON STEP PROGRAM BACKEND SET ARGS RUNGS REPEAT QUICK SEED COUNT FILES NUMBER SECONDS \
       SAN IN OUT LIKE FILLED STACK COHERENCE APERTURE GAIN IBM IEEE

# ---- what is declared ------------------------------------------------------------------------

include common/backends.mk
all_backends := $(backends)
steps    := $(sort $(notdir $(patsubst %/step.mk,%,$(wildcard steps/*/step.mk))))
programs := $(sort $(notdir $(patsubst %/program.mk,%,$(wildcard common/*/program.mk))))

# Rungs (STEP=05.3) are folders of build/rungs, each with a step.mk. The patches of the steps
# are written there if STEP or RUNGS asks for rungs.
override STEP += $(subst .,-,$(WITHOUT))
override STEP := $(strip $(STEP))
with_rungs := $(filter-out 0,$(RUNGS))
ifneq ($(findstring .,$(STEP))$(findstring -,$(STEP))$(with_rungs),)
written := $(shell STEP='$(STEP)' RUNGS='$(RUNGS)' $(PYTHON) -m tools.history.repository write 2>&1)
$(if $(filter 0,$(.SHELLSTATUS)),,$(error $(written)))
endif
rungs     := $(notdir $(patsubst %/step.mk,%,$(wildcard build/rungs/*/step.mk)))
folder_of  = $(firstword $(wildcard steps/$1) build/rungs/$1)

define newline


endef
# Reads the file $1 and keeps each of its keys $3 as the variable $2.KEY, empty if not set.
define load
$(foreach k,$3,$k :=$(newline))
include $1
$(foreach k,$3,$2.$k := $$($k)$(newline))
endef
program_keys := sources shared libs cflags double recipes suffix
step_keys    := backends $(foreach p,$(programs),backends.$p cflags.$p)

# Each key is a variable of make, too: one that has the name of another variable is an error.
reserved := $(filter-out $(program_keys) $(step_keys),$(foreach v,$(.VARIABLES),\
            $(if $(filter file override,$(origin $v)),$v)))
declared := $(shell awk -F '[ :+?=]' '/^[A-Za-z_]+ *[:+?]?=/ { print FILENAME "/" $$1 }' \
              $(programs:%=common/%/program.mk) $(steps:%=steps/%/step.mk))
$(foreach k,$(declared),$(if $(filter $(notdir $k),$(reserved)),$(error \
    $(patsubst %/,%,$(dir $k)): $(notdir $k): the Makefile has a variable of this name: \
    expected another key)))
$(foreach p,$(programs),$(eval $(call load,common/$p/program.mk,$p,$(program_keys))))
$(foreach s,$(steps) $(rungs),$(eval $(call load,$(call folder_of,$s)/step.mk,$s,$(step_keys))))

some_steps    := $(if $(STEP),$(filter $(STEP) $(addsuffix _%,$(STEP)),$(steps) $(rungs)),$(steps))
some_steps    += $(if $(with_rungs),$(filter \
                 $(foreach s,$(some_steps),$(firstword $(subst _, ,$s)).%),$(rungs)))
some_programs := $(if $(filter-out all,$(PROGRAM)),$(filter $(PROGRAM),$(programs)),$(programs))
$(if $(some_steps),,$(error STEP=$(STEP): no such step: expected one of $(steps)))
$(if $(some_programs),,$(error PROGRAM=$(PROGRAM): no such program: expected one of $(programs)))

# The back-ends whose `limits` include $1, and those that can be built here.
limited_to = $(foreach b,$(all_backends),$(if $(filter $1,$($b.limits)),$b))
lacks      = $(strip $(foreach n,$($1.needs),$(if $(has_$n),,$n)))
buildable := $(foreach b,$(all_backends),$(if $(call lacks,$b),,$b))
missing   := $(sort $(foreach b,$(all_backends),$(call lacks,$b)))

# The binaries of the steps $1 and the programs $2: all, or those of the back-ends $3.
backends_of = $(filter $(buildable),$(or $($1.backends.$2),$($1.backends)))
binaries_of = $(foreach s,$1,$(foreach p,$2,$(if $(wildcard $(call folder_of,$s)/$p/*.c),\
              $(addprefix $(BUILD)/$s/$p-,$(filter $(or $3,%),$(call backends_of,$s,$p))))))
all_binaries := $(call binaries_of,$(steps) $(rungs),$(programs))

# With CUDA=last, nvcc compiles only the last step of each program (make test without a GPU).
gpu_binaries := $(call binaries_of,$(steps),$(programs),$(call limited_to,gpu))
left_out := $(if $(filter last,$(CUDA)),$(filter-out $(foreach p,$(programs),\
            $(lastword $(filter %/$p-cuda %/$p-hybrid-cuda,$(gpu_binaries)))),$(gpu_binaries)) \
            $(call binaries_of,$(rungs),$(programs),$(call limited_to,gpu)))

include rules.mk

# ---- targets ---------------------------------------------------------------------------------

# `make help` lists the targets that have a comment; those and the next three are no files.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile) binaries tools tests
python = @$(PYTHON) -m

all: binaries tools ## build every step and back-end (RUNGS=1: every rung, too)
	@$(foreach n,$(missing),$(if $(without_$n),echo "$(without_$n)";))
binaries: $(filter-out $(left_out),$(call binaries_of,$(some_steps),$(some_programs)))
tools: $(tools)
tests: $(patsubst tests/%_test.c,$(BUILD)/tests/%_test,$(wildcard tests/*_test.c))
data: $(data_files) ## generate the data of all programs, in build/data

# make run builds one program, and no back-end that only checks or that cannot run here.
run_programs := $(if $(PROGRAM),$(some_programs),$(or $(filter semblance,$(programs)),$(programs)))
run_backends := $(or $(BACKEND),$(filter-out $(call limited_to,checking) \
                $(if $(has_gpu),,$(call limited_to,gpu)),$(buildable)))
run_needs    := $(call binaries_of,$(some_steps),$(run_programs),$(run_backends)) $(BUILD)/verify \
                $(run_programs:%=$(BUILD)/%-check) $(foreach p,$(run_programs),$(call data_of,$p)) \
                $(filter %/devices,$(tools))
run: $(run_needs) ## run and verify the main program (PROGRAM=all STEP= BACKEND= SET= ARGS=)
	$(python) tools.teach.run

# The results of a step are compared with those of earlier steps: they are built first.
first_step := $(call binaries_of,$(firstword $(steps)),$(some_programs))
verify: all data $(first_step) ## check every step and back-end on small, awkward data (REQUIRE=)
	@needed=$$($(PYTHON) -m tools.verify.matrix --needs) && \
	 { [ -z "$$needed" ] || $(MAKE) --no-print-directory JOBS= $$needed; }
	$(python) tools.verify.matrix
random_needs := $(if $(SAN),,$(call binaries_of,$(some_steps),$(some_programs),$(BACKEND))) \
                $(some_programs:%=$(BUILD)/%-check) $(filter %/devices,$(tools))
verify-random: $(random_needs) ## the same on random queries: SEED= COUNT= SECONDS= NUMBER= SAN=1
	$(python) tools.verify.random_queries
coverage: ## lines of the steps that random queries do not execute: SEED= COUNT=
	$(python) tools.verify.coverage
mutants: all data tests ## plant bugs, which must be found; SEED= COUNT= FILES=: drawn by lot
	$(python) $(if $(SEED)$(COUNT)$(FILES),tests.lot,tests.mutants)
variants: all data ## build and verify the experiments of steps/*/variants
	$(python) tools.measure.variants
test-systems: ## build and verify in fresh Debians, with clang, and for other processors: SYSTEM=avx2
	$(python) tests.systems $(SYSTEM)
san: ## sanitizers, race detectors, Oclgrind, and one minute of fuzzing
	$(python) tools.verify.sanitize
lint: ## check the rules of the tree
	$(python) tests.lint

# Without a GPU, CUDA code is compiled but cannot run: its last step is enough for the tests.
# Tests that measure time run alone; then the others, as many at a time as there are processors.
test_needs = @./setup.sh test && $(MAKE) --no-print-directory JOBS= \
             $(if $(has_gpu),,CUDA=last) all data tests
pytest = @export NOT_TESTED=$(BUILD)/not_tested; rm -f $$NOT_TESTED; \
         $(PYTHON) -m pytest $1 -m "alone$2" tests; alone=$$?; \
         $(PYTHON) -m pytest $1 -n auto -m "not alone$2" tests && exit $$alone
test: ## verify everything, and a sample of the other tests
	$(test_needs)
	$(call pytest,, and not slow)
test-all: ## everything that can be checked on a CPU: before a release
	$(test_needs)
	$(call pytest,--all)

bench: all data ## measure times, interleaved and verified (the options of run, REPEAT= QUICK=1)
	$(python) tools.measure.bench
	$(python) tools.measure.bars
bars: all data ## measure whether each program reaches the speeds that it promises
	$(python) tools.measure.bars
ifneq ($(filter race,$(MAKECMDGOALS)),)
$(if $(PEER),,$(error PEER= is not set: expected the checkout of a public code))
endif
race: all data ## time a public code and ours: PROGRAM= PEER=CHECKOUT (SET= QUICK=1)
	$(python) tools.measure.race $(PEER)
shares: all data ## measure a host and a device that share the work, from 0 to 100 percent
	$(python) tools.measure.shares
flags: all data ## measure 00_sequential, or STEP=08, with other compiler flags
	$(python) tools.measure.flags
cluster: all data ## measure the last step with MPI on one and two ranks (QUICK=1)
	$(python) tools.measure.cluster
ceilings: tools ## measure the peaks of this machine: arithmetic, caches, memory
	$(python) tools.measure.ceilings
registers: ## registers and spills, as the compilers report them
	$(python) tools.measure.registers
instructions: all data ## count and classify executed instructions per unit of work: STEP=05
	$(python) tools.measure.instructions
perf: all data ## count instructions, cache misses and branches of a step: STEP=05
	$(python) tools.measure.perf
papers: all data ## the papers' figures, measured here (QUICK=1: small)
	$(python) tools.publish.paper_figures

section_needs := $(call binaries_of,$(steps),semblance,$(or $(BACKEND),omp))
section: tools data $(section_needs) ## fill a gap in a line of traces, and draw it
	$(python) tools.publish.section
su: ## convert SEG-Y to SU: IN=a.sgy OUT=a.su (IBM=1, IEEE=1: so are the samples)
	$(python) tools.publish.segy su
segy: ## convert SU to SEG-Y: IN=a.su LIKE=a.sgy OUT=b.sgy (FILLED=new.su: with its traces)
	$(python) tools.publish.segy segy
picture: ## draw a survey and its filled traces: IN=a.su STACK=filled.su (COHERENCE= GAIN= OUT=)
	$(python) tools.publish.picture
survey: tools $(section_needs) ## fill test surveys, draw them, and compare with normal moveout
	$(python) tools.publish.survey
interpolation: tools $(section_needs) ## quality and time of methods on the test surveys
	$(python) tools.measure.interpolation
lessons: ## update the generated parts of the lessons
	$(python) tools.publish.lessons
report: ## write all pages as a site, build/report/index.html
	$(python) tools.publish.site

diff: ## what a step changes: STEP=05 [PROGRAM=semblance]
	$(python) tools.history.diff
exercise: ## a step as a task, in work/: STEP=05 [PROGRAM=semblance]
	$(python) tools.teach.exercise exercise
grade: tools data ## check and time the solution in work/: STEP=05
	$(python) tools.teach.grade
reveal: ## compare the solution in work/ with the reference solution: STEP=05
	$(python) tools.teach.exercise reveal
export: ## pack one step as a folder that can be used alone: STEP=05
	$(python) tools.teach.export
new-step: ## begin a new step, as a copy of the last one: NAME=08_word
	$(python) tools.teach.new_step
rungs: ## list the isolated changes of a step: STEP=05 PROGRAM=semblance
	$(python) tools.history.repository list
history: ## a program's steps and rungs as a git repository in build/history: PROGRAM= FORCE=1
	$(python) tools.history.repository history
rungs-from-history: ## write what was edited in build/history back into steps/: PROGRAM=
	$(python) tools.history.repository back

devices: $(BUILD)/devices ## list the OpenCL devices, as DEVICE= names them
	@$(BUILD)/devices
format: ## run clang-format on all C sources
	@$(or $(shell command -v clang-format-14),clang-format) -i \
	 $$(git ls-files '*.[ch]' '*.cl' '*.cu')
clean: ## remove build/
	rm -rf $(BUILD)
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile
	@echo; sed -n 's/^\([A-Z_]*\) *?= *.*/  \1/p' config.mk | tr '\n' ' '
	@echo "can be set: see config.mk"
