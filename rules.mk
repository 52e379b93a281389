# rules.mk - how binaries, tools, tests and data are built; the Makefile includes it.
#
# The stem of most rules, $*, is STEP/PROGRAM-BACKEND of a binary, or, in parts/,
# STEP/PROGRAM-BACKEND/SOURCE of an object. backends.mk declares the variables of a back-end,
# program.mk and step.mk the variables of a program and of a step.

# ---- how a binary is built -------------------------------------------------------------------

# $* is STEP/PROGRAM-BACKEND of a binary, or STEP/PROGRAM-BACKEND/SOURCE of an object.
step    = $(word 1,$(subst /, ,$*))
program = $(word 1,$(subst -, ,$(word 2,$(subst /, ,$*))))
backend = $(patsubst $(program)-%,%,$(word 2,$(subst /, ,$*)))
source  = $(call folder_of,$(step))/$(program)/$(notdir $*)

# Objects are kept in parts/. A program that declares flags for double precision (`double` in
# program.mk) has its sources compiled twice; both objects are linked.
sources_2 = $(if $($(program).double),$(addprefix double/,$(filter-out %.cl,$($(backend).sources))))
objects   = $(patsubst %,$(BUILD)/parts/$*/%.o,$($(backend).sources) $(sources_2)) \
            $(addprefix $(BUILD)/common/,$($(backend).common))
run_objects := $(patsubst %,$(BUILD)/common/run/%.o,run args npy)
# The objects of the front end of the program $1, and those of them that need no back-end.
front   = $(patsubst %.c,$(BUILD)/common/%.o,$($1.sources:%=$1/%) $($1.shared)) $(run_objects)
library = $(filter-out %/main.o %/pass.o %/section.o %/dead.o %/choose.o %/coarse.o,$(call front,$1))

includes  := $(addprefix -Icommon/,run su portable opencl cuda hybrid mpi)
c_flags    = $(CFLAGS) -MMD -MP $(includes)
compile    = $(CCACHE) $(CC) $(c_flags)
nvcc       = $(NVCC) $(NVFLAGS) $(includes)
by_mpicc   = $(filter MPICC,$($(backend).compiler))
by_nvcc    = $(filter NVCC,$($(backend).compiler))
double     = $(if $(findstring /double/,$*),$($(program).double))
part_flags = $($(backend).flags) -Icommon/$(program) $($(program).cflags) \
             $($(step).cflags.$(program)) $(double)
part_c     = $(if $(by_mpicc),$(MPICC),$(CCACHE) $(CC)) $(c_flags) $(part_flags)
part_cu    = $(if $(by_nvcc),$(nvcc) -MMD -MP -MF $(@:.o=.d) -Icommon/$(program) $(double),\
             $(compile) $(part_flags) -x c)
linker     = $(if $(by_nvcc),$(nvcc) $(addprefix -Xcompiler ,$($(backend).flags)),\
             $(if $(by_mpicc),$(MPICC),$(CC)) $(CFLAGS) $($(backend).flags))

$(all_binaries): $(BUILD)/%: $$(objects) $$(call front,$$(program)) common/backends.mk
	@$(say)
	$(linker) $(filter %.o,$^) $($(program).libs) $($(backend).libs) -lm -o $@

part_needs = $(BUILD)/common/$(program)/flags $(BUILD)/toolchain
$(BUILD)/parts/%.c.o: $$(source).c $$(part_needs)
	@$(say)
	$(part_c) -c $< -o $@
$(BUILD)/parts/%.cu.o: $$(source).cu $$(part_needs)
	@$(say)
	$(part_cu) -c $< -o $@
headers = $(wildcard $(addsuffix /*.h,$(call folder_of,$(step))/$(program) common/$(program) \
            common/portable) $(call folder_of,$(step))/$(program)/*.cl)
$(BUILD)/parts/%.cl.o: $$(source).cl $$(headers) common/opencl/embed.awk $$(part_needs)
	@$(say)
	awk -v path="$(<D) common/portable common/$(program)" -f common/opencl/embed.awk $< \
	  >$(@:.o=.c)
	$(CC) $(CFLAGS) -c $(@:.o=.c) -o $@

$(BUILD)/common/%.o: common/%.c $(BUILD)/flags
	@$(say)
	$(compile) -c $< -o $@
$(BUILD)/common/%-cpu.o: common/%.cu $(BUILD)/flags
	@$(say)
	$(compile) -fopenmp -x c -c $< -o $@
$(BUILD)/common/%.o: common/%.cu $(BUILD)/toolchain
	@$(say)
	$(nvcc) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(BUILD)/common/cuda/cuda_cpu.o $(BUILD)/common/hybrid/hybrid.o: private CFLAGS += -fopenmp
$(BUILD)/common/mpi/ranks.o: $(BUILD)/toolchain
# ccache does not know the assignments in MPICC.
$(BUILD)/common/mpi/ranks.o: private override CC := $(MPICC)
$(BUILD)/common/mpi/ranks.o: private override CCACHE :=

# These files change when a compiler or its flags do, and objects depend on them. Tools read
# the compiler and the flags of CPU code in the first line.
stamp = mkdir -p $(@D); printf '%s\n' $1 | cmp -s - $@ || printf '%s\n' $1 >$@
.PHONY: always
$(BUILD)/flags: always
	@$(call stamp,'$(strip $(CC) $(CFLAGS))')
$(BUILD)/toolchain: always
	@$(call stamp,'$(NVCC) $(NVFLAGS)' '$(MPICC)' '$(foreach b,$(all_backends),$($b.flags))')
$(programs:%=$(BUILD)/common/%/flags): $(BUILD)/common/%/flags: always
	@$(call stamp,'$(strip $(CC) $(CFLAGS) $($*.cflags))' \
	              '$(foreach s,$(steps),$($s.cflags.$*)) $($*.double) $($*.libs)')

# ---- tools, data, tests ----------------------------------------------------------------------

tools := $(BUILD)/verify $(if $(has_opencl),$(BUILD)/devices) \
         $(patsubst verify/check_%.c,$(BUILD)/%-check,$(wildcard verify/check_*.c)) \
         $(programs:%=$(BUILD)/%-data) \
         $(patsubst tools/measure/count_%.c,$(BUILD)/%-count,$(wildcard tools/measure/count_*.c))
ifneq ($(wildcard tools/measure/ceilings.c),) # an exported step does not have it
tools += $(BUILD)/ceilings $(if $(has_cuda),$(BUILD)/ceilings-cuda)
endif
data_of    = $(patsubst %,$(BUILD)/data/$1/%.$($1.suffix),$($1.recipes))
data_files := $(foreach p,$(programs),$(call data_of,$p))
# Compiles and links a tool with the compiler flags $1 and the libraries $2.
tool = $(say) && $(compile) -MF $@.d -MT $@ $1 $(filter %.c %.o,$^) $2 -lm -o $@

$(BUILD)/verify: verify/verify.c $(run_objects)
	$(call tool)
$(BUILD)/devices: common/opencl/devices.c $(BUILD)/flags
	$(call tool,,-lOpenCL)
# A checker shares nothing with what it checks but the parser of arguments and of .npy files.
# For several sources the compiler lists only the headers of the last one.
$(BUILD)/%-check: verify/check_%.c $$(wildcard verify/oracle_$$*.c) $(run_objects) \
                  verify/verdict.h $$(wildcard verify/oracle_$$*.h)
	$(call tool,-fopenmp -Iverify)
$(BUILD)/%-data: data/%.c $$(call library,$$*)
	$(call tool,-Icommon/$*,$($*.libs))
$(BUILD)/%-count: tools/measure/count_%.c $$(call library,$$*)
	$(call tool,-fopenmp -Icommon/$*,$($*.libs))
$(BUILD)/ceilings: tools/measure/ceilings.c $(run_objects)
	$(call tool,-fopenmp -ffp-contract=fast)
$(BUILD)/ceilings-cuda: tools/measure/ceilings.cu $(BUILD)/common/cuda/cuda_device.o $(run_objects)
	@$(say)
	$(nvcc) $(filter %.cu %.o,$^) -o $@
test_objects := $(run_objects) $(BUILD)/common/su/su.o $(BUILD)/common/semblance/line.o
$(BUILD)/tests/%_test: tests/%_test.c $(test_objects)
	$(call tool,-Iverify,-lcmocka)
# For make san: programs with planted faults, the fuzzer, and libraries that are preloaded.
$(BUILD)/faults/%: tools/verify/faults/%.c $(run_objects)
	$(call tool,-fopenmp,$(if $(filter opencl,$*),-lOpenCL))
$(BUILD)/su_fuzz: verify/fuzz/su_fuzz.c $(BUILD)/common/su/su.o $(run_objects)
	$(call tool,-fsanitize=fuzzer)
$(BUILD)/%.so: tools/verify/%.c
	$(call tool,-shared -fPIC)
$(data_files): $(BUILD)/data/%: $(BUILD)/$$(firstword $$(subst /, ,$$*))-data
	@mkdir -p $(@D)
	@$< recipe=$(basename $(notdir $*)) out=$@ >$@.truth.tmp && mv $@.truth.tmp $@.truth

-include $(wildcard $(foreach d,. tests common/* parts/*/* parts/*/*/double,$(BUILD)/$d/*.d))
