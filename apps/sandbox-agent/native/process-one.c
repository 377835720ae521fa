/*
 * What the agent needs of the kernel as process 1 of a sandbox and Node does not offer: taking leave of children that it did not start,
 * and closing its memory to other processes of its user.
 *
 * Built by: cc -O2 -shared -fPIC -o process-one.node process-one.c (the headers of Node are not needed)
 */
#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>

typedef struct napi_env__ *napi_env;
typedef struct napi_value__ *napi_value;
typedef struct napi_callback_info__ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);

extern int napi_create_int32(napi_env, int32_t, napi_value *);
extern int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
extern int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
extern int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
extern int napi_get_value_int32(napi_env, napi_value, int32_t *);

static napi_value number(napi_env env, int32_t value) {
  napi_value result = 0;
  napi_create_int32(env, value, &result);
  return result;
}

/*
 * reapOrphans(own): takes leave of children that have ended, except for the process `own`, whose end Node waits for (0: none). How many
 * there were; -1 - that number when `own` has ended and Node did not see it yet: others may be behind it.
 */
static napi_value reap_orphans(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value argument = 0;
  int32_t own = 0, reaped = 0;
  napi_get_cb_info(env, info, &count, &argument, 0, 0);
  if (count == 1) napi_get_value_int32(env, argument, &own);
  for (;;) {
    siginfo_t child = {0};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) != 0) {
      if (errno == EINTR) continue;
      return number(env, reaped);
    }
    if (child.si_pid == 0) return number(env, reaped);
    if (child.si_pid == own) return number(env, -1 - reaped);
    if (waitpid(child.si_pid, 0, WNOHANG) > 0) reaped++;
  }
}

/* closeToOthers(): nobody without CAP_SYS_PTRACE may read this process or trace it. What the kernel says then: 0 when it is so. */
static napi_value close_to_others(napi_env env, napi_callback_info info) {
  (void)info;
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  return number(env, prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
}

static void add(napi_env env, napi_value exports, const char *name, napi_callback function) {
  napi_value value = 0;
  if (napi_create_function(env, name, SIZE_MAX, function, 0, &value) == 0) napi_set_named_property(env, exports, name, value);
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports) {
  add(env, exports, "reapOrphans", reap_orphans);
  add(env, exports, "closeToOthers", close_to_others);
  return exports;
}

__attribute__((visibility("default"))) int32_t node_api_module_get_api_version_v1(void) { return 8; }
