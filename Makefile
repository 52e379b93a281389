# The front door. `make help` lists the targets; config.mk holds what you may set.
#
# A binary is build/STEP/PROGRAM-BACKEND. Steps and programs are found, not listed: a step
# is a folder of steps/ with a step.mk, a program a folder of common/ with a program.mk,
# and a step has those back-ends of a program that its step.mk names.

include config.mk
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# As many at a time as there are processors, unless -j says otherwise, or the make below
# that calls this one.
ifeq ($(filter -j%,$(MAKEFLAGS))$(CALLED),)
MAKEFLAGS += -j$(shell nproc)
endif

# Each file that is made is named, and make V=1 shows the commands.
ifndef V
.SILENT:
endif
say = $(if $(findstring s,$(firstword -$(MAKEFLAGS))),:,echo '  $@')

STEP ?=
PROGRAM ?=
BACKEND ?=
SET ?=
ARGS ?=
export BUILD PYTHON STEP PROGRAM BACKEND SET ARGS FROM REPEAT QUICK SEED COUNT NUMBER SECONDS

steps    := $(sort $(notdir $(patsubst %/step.mk,%,$(wildcard steps/*/step.mk))))
programs := $(sort $(notdir $(patsubst %/program.mk,%,$(wildcard common/*/program.mk))))
can_build := seq omp cuda-cpu hybrid-cuda-cpu $(if $(has_openacc),openacc) $(if $(has_opencl),ocl hybrid) \
             $(if $(has_cuda),cuda hybrid-cuda) $(if $(has_mpi),mpi $(if $(has_opencl),mpi-ocl))

some_steps    := $(if $(STEP),$(filter $(STEP) $(addsuffix _%,$(STEP)),$(steps)),$(steps))
some_programs := $(if $(filter-out all,$(PROGRAM)),$(filter $(PROGRAM),$(programs)),$(programs))
$(if $(some_steps),,$(error STEP=$(STEP): no such step, there are $(steps)))
$(if $(some_programs),,$(error PROGRAM=$(PROGRAM): no such program, there are $(programs)))

define newline


endef

all: binaries tools ## build every step and back-end
	@$(if $(has_opencl),:,echo "$(without_opencl)")
	@$(if $(has_cuda),:,echo "$(without_cuda)")
	@$(if $(has_mpi),:,echo "$(without_mpi)")

# ---- what binaries are made of -----------------------------------------------------

include_dirs := -Icommon/run -Icommon/su -Icommon/portable
run_objects  := $(patsubst %,$(BUILD)/common/run/%.o,run args npy)

# Declarations of a program: what is linked into each of its binaries.
define load_program
$(foreach v,sources shared libs cflags again recipes suffix,$v :=$(newline))
include common/$1/program.mk
front_$1 := $$(patsubst %.c,$(BUILD)/common/$1/%.o,$$(sources)) \
            $$(patsubst %.c,$(BUILD)/common/%.o,$$(shared)) $(run_objects) \
            $(BUILD)/common/$1/flags
libs_$1  := $$(libs) -lm
cflags_$1 := $$(cflags)
again_$1 := $$(again)
recipes_$1 := $$(recipes)
suffix_$1  := $$(suffix)
endef
$(foreach p,$(programs),$(eval $(call load_program,$p)))

# Change when the compiler or its flags do, and what they were used for is built anew:
# those of all, and those of a program.
words = $(strip $(CC) $(CFLAGS) $(cflags_$(notdir $(@D))) $(foreach s,$(steps),$(cflags_$s_$(notdir $(@D)))))
$(BUILD)/flags $(programs:%=$(BUILD)/common/%/flags): always
	@mkdir -p $(@D); echo '$(words)' | cmp -s - $@ || echo '$(words)' > $@
.PHONY: always

$(BUILD)/common/%.o: common/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@$(say)
	$(CC) $(CFLAGS) -MMD -MP $(include_dirs) -c $< -o $@

$(BUILD)/common/cuda/cuda_device-cpu.o: common/cuda/cuda_device.cu $(BUILD)/flags
	@mkdir -p $(@D)
	@$(say)
	$(CC) $(CFLAGS) -MMD -MP $(include_dirs) -fopenmp -x c -c $< -o $@

$(BUILD)/common/cuda/cuda_cpu.o $(BUILD)/common/hybrid/share.o: private CFLAGS += -fopenmp
$(BUILD)/common/mpi/ranks.o: private override CC := $(MPICC)

$(BUILD)/common/cuda/cuda_device.o: common/cuda/cuda_device.cu common/cuda/cuda_device.h
	@mkdir -p $(@D)
	@$(say)
	$(NVCC) $(NVFLAGS) $(include_dirs) -c $< -o $@

# ---- one rule a back-end: $1 step, $2 program -------------------------------------

# Beside the binaries of a step there is nothing else: what they are made of is in parts/.
deps = $(patsubst $(BUILD)/%,$(BUILD)/parts/%.d,$1)

# A program may have its steps' sources compiled once more, with the words that its
# program.mk has as `again`, and linked along: $3 back-end, $4 source, $5 compiler.
flags_cuda-cpu := -fopenmp
again_gcc = $(CC) $(CFLAGS) $(flags_$3) -MMD -MP -MF $$@.d -MT $$@ -Icommon/opencl $(cflags_$2) $(cflags_$1_$2) -x c
again_of = $(if $(again_$2),$(BUILD)/parts/$1/$2-$3.again.o)
define rule_again
$(BUILD)/parts/$1/$2-$3.again.o: steps/$1/$2/$4 $(wildcard steps/$1/$2/*.h common/$2/*.h common/portable/*.h) $(BUILD)/common/$2/flags
	@mkdir -p $$(@D)
	@$$(say)
	$5 $(include_dirs) -Icommon/cuda -Icommon/$2 $(again_$2) -c $$< -o $$@
endef

# The back-ends that gcc makes of one C file: the file, the words for the compiler.
source_seq := cpu.c
flags_seq  := -Wno-unknown-pragmas
source_omp := cpu.c
flags_omp  := -fopenmp
source_openacc := openacc.c
flags_openacc  := -fopenacc $(ACCFLAGS)
define rule_gcc
$(BUILD)/$1/$2-$3: steps/$1/$2/$(source_$3) $(call again_of,$1,$2,$3) $(front_$2)
	@mkdir -p $$(@D) $(BUILD)/parts/$1
	@$$(say)
	$$(CC) $$(CFLAGS) $(flags_$3) -MMD -MP -MF $$(call deps,$$@) -MT $$@ $(include_dirs) -Icommon/$2 $(cflags_$2) $(cflags_$1_$2) $$(filter %.c %.o,$$^) $(libs_$2) -o $$@
endef
rule_seq     = $(call rule_gcc,$1,$2,seq)
rule_omp     = $(call rule_gcc,$1,$2,omp)
rule_openacc = $(call rule_gcc,$1,$2,openacc)

define rule_ocl
$(BUILD)/$1/$2-ocl: steps/$1/$2/opencl.c $(call again_of,$1,$2,ocl) $(BUILD)/parts/$1/$2-kernel.o $(BUILD)/common/opencl/ocl.o $(front_$2)
	@mkdir -p $$(@D) $(BUILD)/parts/$1
	@$$(say)
	$$(CC) $$(CFLAGS) -MMD -MP -MF $$(call deps,$$@) -MT $$@ $(include_dirs) -Icommon/opencl -Icommon/$2 $(cflags_$2) $(cflags_$1_$2) $$(filter %.c %.o,$$^) $(libs_$2) -lOpenCL -o $$@
endef

# The kernels as text, whatever back-end asks for them.
define rule_kernel
$(BUILD)/parts/$1/$2-kernel.o: steps/$1/$2/kernel.cl $(wildcard steps/$1/$2/*.h common/$2/*.h common/portable/*.h) common/opencl/embed.awk
	@mkdir -p $$(@D)
	awk -v path="steps/$1/$2 common/portable common/$2" -f common/opencl/embed.awk $$< > $$(@:.o=.c)
	@$$(say)
	$$(CC) $$(CFLAGS) -c $$(@:.o=.c) -o $$@
endef

define rule_cuda
$(BUILD)/$1/$2-cuda: steps/$1/$2/cuda.cu $(call again_of,$1,$2,cuda) $(wildcard steps/$1/$2/*.h common/$2/*.h common/portable/*.h common/cuda/*.h) $(BUILD)/common/cuda/cuda_device.o $(front_$2)
	@mkdir -p $$(@D) $(BUILD)/parts/$1
	@$$(say)
	$$(NVCC) $$(NVFLAGS) $(include_dirs) -Icommon/cuda -Icommon/$2 $$(filter %.cu %.o,$$^) $(libs_$2) -o $$@
endef

define rule_cuda-cpu
$(BUILD)/$1/$2-cuda-cpu: steps/$1/$2/cuda.cu $(call again_of,$1,$2,cuda-cpu) $(BUILD)/common/cuda/cuda_device-cpu.o $(BUILD)/common/cuda/cuda_cpu.o $(front_$2)
	@mkdir -p $$(@D) $(BUILD)/parts/$1
	@$$(say)
	$$(CC) $$(CFLAGS) -fopenmp -MMD -MP -MF $$(call deps,$$@) -MT $$@ $(include_dirs) -Icommon/cuda -Icommon/$2 $(cflags_$2) $(cflags_$1_$2) -x c $$< -x none $$(filter %.o,$$^) $(libs_$2) -o $$@
endef

# The back-ends that are made of several sources, each of which is an object, or two where
# the program has words for once more: the sources, and what is linked along.
sources_hybrid          := hybrid.c cpu.c opencl.c
sources_hybrid-cuda     := hybrid.c cpu.c cuda.cu
sources_hybrid-cuda-cpu := hybrid.c cpu.c cuda.cu
sources_mpi             := mpi.c cpu.c
sources_mpi-ocl         := mpi.c opencl.c
objects_hybrid          := common/hybrid/share.o common/opencl/ocl.o
objects_hybrid-cuda     := common/hybrid/share.o common/cuda/cuda_device.o
objects_hybrid-cuda-cpu := common/hybrid/share.o common/cuda/cuda_device-cpu.o common/cuda/cuda_cpu.o
objects_mpi             := common/mpi/ranks.o
objects_mpi-ocl         := common/mpi/ranks.o common/opencl/ocl.o
libs_hybrid  := -lOpenCL
libs_mpi-ocl := -lOpenCL
compile_of = $(if $(filter mpi%,$1),$(MPICC),$(CC)) $(CFLAGS) -fopenmp
link_of    = $(if $(filter hybrid-cuda,$1),$(NVCC) -arch=$(CUDA_ARCH) -Xcompiler -fopenmp,$(call compile_of,$1))
dirs_of    = $(include_dirs) -Icommon/hybrid -Icommon/opencl -Icommon/cuda -Icommon/mpi -Icommon/$1

# One object: $1 step, $2 program, $3 back-end, $4 source, $5 suffix, $6 more words.
define rule_part
$(BUILD)/parts/$1/$2-$3-$4$5.o: steps/$1/$2/$4 $(wildcard steps/$1/$2/*.h common/$2/*.h common/portable/*.h common/hybrid/*.h common/mpi/*.h common/cuda/*.h common/opencl/*.h) $(BUILD)/common/$2/flags
	@mkdir -p $$(@D)
	@$$(say)
	$(if $(and $(filter hybrid-cuda,$3),$(filter %.cu,$4)),$$(NVCC) $$(NVFLAGS),$$(call compile_of,$3) $$(cflags_$2) $(cflags_$1_$2) $(if $(filter %.cu,$4),-x c)) $$(call dirs_of,$2) $6 -c $$< -o $$@
endef
parts_of = $(foreach s,$(sources_$3),$(BUILD)/parts/$1/$2-$3-$s.o $(if $(again_$2),$(BUILD)/parts/$1/$2-$3-$s.again.o))
define rule_parts
$(foreach s,$(sources_$3),$(call rule_part,$1,$2,$3,$s,,)$(newline)$(newline)$(if $(again_$2),$(call rule_part,$1,$2,$3,$s,.again,$(again_$2)))$(newline)$(newline))
$(BUILD)/$1/$2-$3: $(call parts_of,$1,$2,$3) $(if $(libs_$3),$(BUILD)/parts/$1/$2-kernel.o) $(addprefix $(BUILD)/,$(objects_$3)) $(front_$2)
	@mkdir -p $$(@D)
	@$$(say)
	$$(call link_of,$3) $$(filter %.o,$$^) $(libs_$2) $(libs_$3) -o $$@
endef

# Declarations of a step, then the rules of each back-end that can be built here. A
# program may have others than the rest, backends.PROGRAM, and words for the compiler,
# cflags.PROGRAM.
define load_step
backends :=
$(foreach p,$(programs),backends.$p :=$(newline)cflags.$p :=$(newline))
include steps/$1/step.mk
$(foreach p,$(programs),cflags_$1_$p := $$(cflags.$p)$(newline))
$(foreach p,$(programs),backends_$1_$p := $$(filter $(can_build),$$(or $$(backends.$p),$$(backends)))$(newline))
endef
$(foreach s,$(steps),$(eval $(call load_step,$s)))
has = $(wildcard steps/$1/$2)
again_source = $(or $(patsubst ocl,opencl.c,$(filter ocl,$1)),$(if $(filter cuda%,$1),cuda.cu),cpu.c)
again_with = $(if $(filter cuda,$3),$(NVCC) $(NVFLAGS),$(again_gcc))
$(foreach s,$(steps),$(foreach p,$(programs),$(if $(call has,$s,$p),\
  $(if $(call has,$s,$p/kernel.cl),$(eval $(call rule_kernel,$s,$p)))\
  $(foreach b,$(backends_$s_$p),$(if $(sources_$b),$(eval $(call rule_parts,$s,$p,$b)),\
  $(eval $(call rule_$b,$s,$p))\
  $(if $(again_$p),$(eval $(call rule_again,$s,$p,$b,$(call again_source,$b),$(call again_with,$s,$p,$b)))))))))

# Without a GPU nothing runs what nvcc makes, and that takes minutes: make test compiles
# the last step of each program only.
ifneq ($(filter test,$(MAKECMDGOALS)),)
ifeq ($(has_gpu),)
with_cuda = $(foreach p,$(programs),$(lastword $(foreach s,$(steps),$(if $(filter cuda hybrid-cuda,$(if $(call has,$s,$p),$(backends_$s_$p))),$s/$p))))
$(foreach s,$(steps),$(foreach p,$(programs),$(if $(filter $s/$p,$(with_cuda)),,$(eval backends_$s_$p := $(filter-out cuda hybrid-cuda,$(backends_$s_$p))))))
endif
endif

# Of steps $1 and programs $2: all binaries, or those of the back-ends $3.
binaries_of = $(foreach s,$1,$(foreach p,$2,$(if $(call has,$s,$p),\
  $(patsubst %,$(BUILD)/$s/$p-%,$(if $3,$(filter $3,$(backends_$s_$p)),$(backends_$s_$p))))))

# ---- tools, data, tests -------------------------------------------------------------

check_tools := $(patsubst verify/check_%.c,$(BUILD)/%-check,$(wildcard verify/check_*.c))
data_tools  := $(programs:%=$(BUILD)/%-data)
measure_tools := $(patsubst tools/measure/%.c,$(BUILD)/%,$(wildcard tools/measure/ceilings.c)) \
                 $(patsubst tools/measure/count_%.c,$(BUILD)/%-count,$(wildcard tools/measure/count_*.c)) \
                 $(if $(has_mpi),$(patsubst tools/measure/%.c,$(BUILD)/%,$(wildcard tools/measure/pingpong.c))) \
                 $(if $(has_cuda),$(patsubst tools/measure/%.cu,$(BUILD)/%-cuda,$(wildcard tools/measure/ceilings.cu)))
test_tools  := $(patsubst tests/%_test.c,$(BUILD)/tests/%_test,$(wildcard tests/*_test.c))
$(foreach p,$(programs),$(eval data_$p := $(patsubst %,$(BUILD)/data/$p/%.$(suffix_$p),$(recipes_$p))))
data_files  := $(foreach p,$(programs),$(data_$p))

link = $(say); mkdir -p $(@D) && $(CC) $(CFLAGS) -MMD -MP -MF $@.d -MT $@ $(include_dirs) $1 $(filter %.c %.o,$^) $2 $(tool_libs) -lm -o $@

$(BUILD)/verify: verify/verify.c verify/compare.c $(run_objects)
	$(call link)
$(BUILD)/devices: common/opencl/devices.c
	$(call link,,-lOpenCL)
$(BUILD)/%-check: verify/check_%.c
	$(call link,-fopenmp -Iverify)
$(BUILD)/%-data: data/%.c
	$(call link,-Icommon/$*)
$(BUILD)/%-count: tools/measure/count_%.c
	$(call link,-fopenmp -Icommon/$*)
$(BUILD)/ceilings: tools/measure/ceilings.c $(run_objects)
	$(call link,-fopenmp -ffp-contract=fast)
$(BUILD)/pingpong: private override CC := $(MPICC)
$(BUILD)/pingpong: tools/measure/pingpong.c $(run_objects) $(BUILD)/common/mpi/ranks.o
	$(call link,-Icommon/mpi)
$(BUILD)/ceilings-cuda: tools/measure/ceilings.cu $(BUILD)/common/cuda/cuda_device.o $(run_objects)
	@$(say)
	$(NVCC) $(NVFLAGS) $(include_dirs) -Icommon/cuda $(filter %.cu %.o,$^) -o $@
# A checker shares nothing with what it checks but arguments and .npy files.
$(foreach p,$(programs),$(eval $(BUILD)/$p-check: verify/compare.c $(wildcard verify/oracle_$p.c) $(run_objects)))
$(foreach p,$(programs),$(eval $(BUILD)/$p-data $(BUILD)/$p-count: tool_libs := $(libs_$p)))
$(foreach p,$(programs),$(eval $(BUILD)/$p-data: $(filter-out %/main.o %/section.o,$(front_$p))))
$(foreach p,$(programs),$(eval $(BUILD)/$p-count: $(filter-out %/main.o %/section.o,$(front_$p))))
$(BUILD)/tests/%_test: tests/%_test.c verify/compare.c $(run_objects) $(BUILD)/common/su/su.o $(BUILD)/common/semblance/line.o
	$(call link,-Iverify,-lcmocka)

define data_rule
$(BUILD)/data/$1/%.$(suffix_$1): $(BUILD)/$1-data
	@mkdir -p $$(@D)
	@$$< recipe=$$* out=$$@ > $$@.truth.tmp && mv $$@.truth.tmp $$@.truth
endef
$(foreach p,$(programs),$(eval $(call data_rule,$p)))

# ---- targets -------------------------------------------------------------------------

.PHONY: all binaries step tools data tests run verify verify-random coverage mutants section variants lint lessons diff \
        san test test-all devices propagate format clean help bench cluster flags ceilings registers papers \
        shares perf report exercise grade reveal export new-step

binaries: $(call binaries_of,$(some_steps),$(some_programs))
step: binaries
tools: $(BUILD)/verify $(check_tools) $(data_tools) $(measure_tools) $(if $(has_opencl),$(BUILD)/devices)
data: $(data_files) ## make the data of all programs, in build/data
tests: $(test_tools)

# What a first look runs: one program, and no back-end that only checks.
run_programs := $(if $(PROGRAM),$(some_programs),$(or $(filter semblance,$(programs)),$(programs)))
run_backends := $(or $(BACKEND),$(filter-out %-cpu $(if $(has_gpu),,cuda hybrid-cuda),$(can_build)))
run_needs := $(call binaries_of,$(some_steps),$(run_programs),$(run_backends)) \
             $(BUILD)/verify $(run_programs:%=$(BUILD)/%-check) \
             $(foreach p,$(run_programs),$(data_$p)) $(if $(has_opencl),$(BUILD)/devices)
run: $(run_needs) ## run and verify the main program (PROGRAM=all STEP= BACKEND= SET= ARGS=)
	@$(PYTHON) -m tools.teach.run

# Some outputs have no oracle but the first step, and some steps must repeat the bytes of
# the one before.
verify: all data $(call binaries_of,$(firstword $(steps)),$(some_programs)) ## check every step and back-end on small, awkward data
	@needed=$$($(PYTHON) -m tools.verify.matrix --needs) && \
	 { [ -z "$$needed" ] || $(MAKE) --no-print-directory CALLED=yes $$needed; }
	@$(PYTHON) -m tools.verify.matrix

verify-random: $(call binaries_of,$(some_steps),$(some_programs),$(BACKEND)) $(some_programs:%=$(BUILD)/%-check) $(if $(has_opencl),$(BUILD)/devices) ## the same on random queries: SEED= COUNT=2000 SECONDS= NUMBER=
	@$(PYTHON) -m tools.verify.random_queries

coverage: ## lines of the steps that random queries do not reach: SEED= COUNT=
	@$(PYTHON) -m tools.verify.coverage

mutants: all data ## plant bugs; verify must catch every one
	@$(PYTHON) -m tools.verify.mutants

variants: all data ## build and verify what the papers measured between two steps
	@$(PYTHON) -m tools.measure.variants

section: tools data $(call binaries_of,$(steps),semblance,$(or $(BACKEND),omp)) ## fill a gap in a line of traces, and draw it
	@$(PYTHON) -m tools.publish.section

lint: ## the tree's own rules
	@$(PYTHON) -m tests.lint

lessons: ## write the generated parts of the lessons anew
	@$(PYTHON) -m tools.publish.lessons

diff: ## what a step changes: STEP=05 [PROGRAM=semblance]
	@$(PYTHON) -m tools.history.diff

san: data ## sanitizers, race detectors, Oclgrind and a minute of fuzzing
	@bash tests/san.sh

test: all data tests ## everything is verified, the rest by a chosen part: under 15 minutes
	@$(PYTHON) -m tests.all

test-all: all data tests ## everything that a CPU can check: before a release
	@$(PYTHON) -m tests.all --all

bench: all data ## time them, interleaved and verified (the same, REPEAT= QUICK=1)
	@$(PYTHON) -m tools.measure.bench

shares: all data ## time host and device sharing the work, 0 to 100 percent
	@$(PYTHON) -m tools.measure.shares

flags: all data ## time 00_sequential, or STEP=08, under other compiler flags
	@$(PYTHON) -m tools.measure.flags

cluster: all data ## the last step on ranks of MPI, verified, for the model of more (QUICK=1)
	@$(PYTHON) -m tools.measure.cluster

ceilings: tools ## what this machine can do at most: arithmetic, caches, memory, messages
	@$(PYTHON) -m tools.measure.ceilings

registers: ## what the compilers say of registers and spills
	@$(PYTHON) -m tools.measure.registers

perf: all data ## count instructions, cache misses and branches of a step: STEP=05
	@$(PYTHON) -m tools.measure.perf

papers: all data ## the papers' figures, measured here (QUICK=1: small)
	@$(PYTHON) -m tools.measure.papers

report: tools data ## the whole history as pages, build/report/index.html
	@$(PYTHON) -m tools.publish.report

exercise: ## a step as a task, in work/: STEP=05 [PROGRAM=semblance]
	@$(PYTHON) -m tools.teach.exercise exercise

grade: tools data ## is the attempt in work/ right, and how fast: STEP=05
	@$(PYTHON) -m tools.teach.grade

reveal: ## the book's answer beside the attempt: STEP=05
	@$(PYTHON) -m tools.teach.exercise reveal

export: ## a step as a folder that stands alone, packed: STEP=05
	@$(PYTHON) -m tools.teach.export

new-step: ## a new step to write, from the last one: NAME=08_word
	@$(PYTHON) -m tools.teach.new_step

devices: $(BUILD)/devices ## the OpenCL devices, as DEVICE= names them
	@$(BUILD)/devices

propagate: ## merge what changed in a step into those after it: FROM=02 PROGRAM=semblance
	@$(PYTHON) -m tools.teach.propagate

format: ## clang-format all C
	@clang-format-14 -i $(shell find common data steps tests verify -name '*.[ch]' -o -name '*.cl' -o -name '*.cu')

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' Makefile
	@echo; sed -n 's/^\([A-Z_]*\) *?= *.*/  \1/p' config.mk | tr '\n' ' '; echo "can be set: see config.mk"

-include $(wildcard $(foreach d,. tests common/* parts/*,$(BUILD)/$d/*.d))
