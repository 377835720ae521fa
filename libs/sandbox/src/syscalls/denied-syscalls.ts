/**
 * System calls that commands do not need: they reach kernel code by which sandboxes have been escaped, or
 * that concerns the whole machine. Numbers: [x86_64 (arch/x86/entry/syscalls/syscall_64.tbl), aarch64
 * (include/uapi/asm-generic/unistd.h)]; -1 where the architecture has none.
 */
export const DENIED_SYSCALLS = {
  // Mounts and roots.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  statmount: [457, 457],
  listmount: [458, 458],
  open_tree_attr: [467, 467],
  // Namespaces.
  unshare: [272, 97],
  setns: [308, 268],
  // Other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  process_madvise: [440, 440],
  kcmp: [312, 272],
  pidfd_getfd: [438, 438],
  // Keys, programs in the kernel, counters, faults, rings.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  // The kernel and the machine.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  iopl: [172, -1],
  ioperm: [173, -1],
  modify_ldt: [154, -1],
  syslog: [103, 116],
  vhangup: [153, 58],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  uselib: [134, -1],
  _sysctl: [156, -1],
  personality: [135, 92],
  // Files by handle pass directory permissions; fanotify watches whole mounts.
  name_to_handle_at: [303, 264],
  open_by_handle_at: [304, 265],
  fanotify_init: [300, 262],
  // Old calls that nothing needs.
  sysfs: [139, -1],
  ustat: [136, -1],
  // Memory placement.
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  get_mempolicy: [239, 236],
  migrate_pages: [256, 238],
  move_pages: [279, 239],
  set_mempolicy_home_node: [450, 450],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;

/**
 * Calls that take what has to be judged through memory, which a filter cannot read: they do not exist, and C libraries
 * fall back to older ones (clone, openat).
 */
export const UNSUPPORTED_SYSCALLS = {
  clone3: [435, 435],
  openat2: [437, 437],
} as const satisfies Readonly<Record<string, readonly [number, number]>>;
