#include <sys/epoll.h>
#include <sys/signalfd.h>
