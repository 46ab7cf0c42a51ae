/* holder.h -- which process listens on a TCP port, as far as /proc lets us see. */
#ifndef DGI_HOLDER_H
#define DGI_HOLDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Writes "process 123 (name)" for @pid, or "an unknown process" for 0. */
void dgi_process_text(pid_t pid, char *out, size_t room);

/* The process that listens on TCP port @port of this host, 0 where it cannot be seen. */
pid_t dgi_port_holder(uint16_t port);

#endif
