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
STEP ?=
PROGRAM ?=
BACKEND ?=
SET ?=
ARGS ?=
RUNGS ?=
of_tools := STEP PROGRAM BACKEND SET ARGS RUNGS REPEAT QUICK SEED COUNT FILES NUMBER SECONDS SAN \
            REQUIRE SPACES VARIANTS RESULTS RESULTS_DIR RERUN NAME AFTER WORK FORCE \
            GRADE_REPETITIONS GRADE_TIMEOUT GRADE_BUSY GRADE_READS BWRAP ALLOW_UNSANDBOXED \
            FUZZ_SECONDS IN OUT LIKE FILLED STACK COHERENCE APERTURE GAIN IBM IEEE
export BUILD PYTHON $(of_tools)

# A variable on the command line that no makefile reads, no tool, and no run-time library, is a
# typing error. Keys, as semblance.libs, have a point.
of_runs := DEVICE DEVICE_AS RANKS %_SEED OMP_% GOMP_% OMPI_% POCL_% CUDA_% ACC_% LD_% LC_%
given   := $(foreach v,$(.VARIABLES),$(if $(filter line,$(origin $v)),$(if $(findstring .,$v),,$v)))
of_make  = $(shell grep -ohE '\$$\([A-Z_]+\)|\b[A-Z_]+ *[?:+]?=' Makefile config.mk rules.mk | \
             tr -d '$$() ?:+=')
unknown := $(if $(given),$(filter-out V SHELL MAKE% has_% .% $(of_runs) $(of_tools) $(of_make),\
             $(given)))
$(foreach v,$(firstword $(unknown)),$(error $v=$($v): no such variable: expected one of \
    $(of_tools) or of config.mk))

# ---- what is declared ------------------------------------------------------------------------

# Each key of these files begins with the name of what it declares: seq.flags, semblance.sources.
include common/backends.mk $(wildcard common/*/program.mk steps/*/step.mk)
all_backends := $(backends)
steps    := $(sort $(notdir $(patsubst %/step.mk,%,$(wildcard steps/*/step.mk))))
programs := $(sort $(notdir $(patsubst %/program.mk,%,$(wildcard common/*/program.mk))))

# Rungs (STEP=05.3) are folders of build/rungs, each with a step.mk. The patches of the steps
# are written there if STEP or RUNGS asks for rungs.
override STEP := $(strip $(STEP))
with_rungs := $(filter-out 0,$(RUNGS))
ifneq ($(findstring .,$(STEP))$(with_rungs),)
written := $(shell STEP='$(STEP)' RUNGS='$(RUNGS)' $(PYTHON) -m tools.history.repository write 2>&1)
$(if $(filter 0,$(.SHELLSTATUS)),,$(error $(written)))
endif
rung_files := $(wildcard build/rungs/*/step.mk)
include $(rung_files)
rungs     := $(notdir $(rung_files:%/step.mk=%))
folder_of  = $(firstword $(wildcard steps/$1) build/rungs/$1)

# The value $2 of the variable $1: each word must be one of the names $3 of a $5; an error lists $4.
require = $(foreach w,$(firstword $(filter-out all $3,$2)),\
          $(error $1=$w: no such $5: expected one of $(strip $4)))
$(call require,STEP,$(STEP),$(foreach s,$(steps) $(rungs),$s $(firstword $(subst _, ,$s))),\
       $(steps),step)
$(call require,PROGRAM,$(PROGRAM),$(programs),$(programs),program)
$(call require,BACKEND,$(BACKEND),$(all_backends),$(all_backends),back-end)

some_steps    := $(if $(filter-out all,$(STEP)),$(filter $(STEP) $(addsuffix _%,$(STEP)),\
                 $(steps) $(rungs)),$(steps))
some_steps    += $(if $(with_rungs),$(filter \
                 $(foreach s,$(some_steps),$(firstword $(subst _, ,$s)).%),$(rungs)))
some_programs := $(if $(filter-out all,$(PROGRAM)),$(filter $(PROGRAM),$(programs)),$(programs))

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

# `make help-all` lists the targets that have a comment; those and the next four are no files.
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' Makefile) binaries tools tests run-needs
python = @$(PYTHON) -m
say_missing = $(foreach n,$(missing),$(if $(without_$n),echo "$(without_$n)";)):

all: binaries tools ## build every step and back-end (RUNGS=1: every rung, too)
	@$(say_missing)
binaries: $(filter-out $(left_out),$(call binaries_of,$(some_steps),$(some_programs)))
tools: $(tools)
tests: $(patsubst tests/%_test.c,$(BUILD)/tests/%_test,$(wildcard tests/*_test.c))
data: $(data_files) ## generate the data of all programs, in build/data

# make run builds one program, and no back-end that only checks or that cannot run here.
run_programs := $(if $(PROGRAM),$(some_programs),$(or $(filter semblance,$(programs)),$(programs)))
run_backends := $(or $(BACKEND),$(filter-out $(call limited_to,checking) \
                $(if $(has_gpu),,$(call limited_to,gpu)),$(buildable)))
check_needs  := $(run_programs:%=$(BUILD)/%-check) $(foreach p,$(run_programs),$(call data_of,$p)) \
                $(BUILD)/verify $(filter %/devices,$(tools))
run: ## run and verify the main program (PROGRAM=all STEP= BACKEND= SET= ARGS=)
	$(python) tools.teach.run --build
run-needs: $(call binaries_of,$(some_steps),$(run_programs),$(run_backends)) $(check_needs)
	@$(say_missing)

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
papers: all data ## the papers' figures, measured here (QUICK=1: small)
	$(python) tools.publish.paper

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
figures: tools $(section_needs) ## draw docs/figures from results/ and the test surveys
	@$(PYTHON) docs/figures
	@FIGURES=$(CURDIR)/docs/figures $(PYTHON) -m tools.publish.survey
lessons: ## update the generated parts of the lessons
	$(python) tools.publish.lessons
report: ## write all pages as a site, build/report/index.html
	$(python) tools.publish.site

diff: ## what a step changes: STEP=05 [PROGRAM=semblance]
	$(python) tools.history.diff
exercise: ## a step as a task, in work/: STEP=05 [PROGRAM=semblance]
	$(python) tools.teach.exercise exercise
grade: $(check_needs) ## check and time the solution in work/: STEP=05 (GRADE_BUSY=1)
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
help: ## the ten targets to begin with, and what can be set
	@$(info $(help))
help-all: ## list all targets and settings
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' Makefile
	@echo; sed -n 's/^\([A-Z_]*\) *?= *.*/  \1/p' config.mk | tr '\n' ' '
	@echo "can be set: see config.mk"

numbers = $(foreach s,$(steps),$(firstword $(subst _, ,$s)))
define help
Student
  make run                    each step of the main program, timed and verified
  make diff STEP=05           what a step changes
  make exercise STEP=05 PROGRAM=semblance    the step as a task, in work/
  make grade STEP=05 PROGRAM=semblance       check and time your solution
  make bench STEP='04 05'     measure the gain, with confidence intervals
Instructor (COURSE.md)
  make test                   verify all, and a sample of tests: 10 to 40 min
  make report                 all pages as a site, build/report/index.html
Geophysicist (docs/using-your-data.md)
  make su IN=a.sgy OUT=a.su                  convert SEG-Y for the program
  make picture IN=a.su STACK=filled.su       draw a survey and its filled traces
  make segy IN=filled.su LIKE=a.sgy OUT=filled.sgy        convert back

Most targets accept one or more of each of these:
  STEP=     $(firstword $(numbers)) .. $(lastword $(numbers)), or a rung as in 05.3
  PROGRAM=  $(programs)
  BACKEND=  $(wordlist 1,6,$(all_backends))
            $(wordlist 7,99,$(all_backends))
  SET=      a set or job of common/PROGRAM/program.mk, such as 2 or line3
  GRADE_BUSY=1  grade times on a busy machine, too
CC, OPT and other settings: config.mk. All targets: make help-all.
endef
