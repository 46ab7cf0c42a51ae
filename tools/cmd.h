/* cmd.h -- the commands; each takes its own arguments, argv[0] being its name, and returns an exit
 * code of report.h. */
#ifndef TOOL_CMD_H
#define TOOL_CMD_H

int cmd_partition(int argc, char **argv);
int cmd_plan(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_up(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_pull(int argc, char **argv);
int cmd_push(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_check(int argc, char **argv);

#endif
