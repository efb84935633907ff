import ArgumentParser
import Glibc

/// Serves, or runs `nestd token` or `nestd migrate`, which have their own options and not those of the server.
@main
enum Main {
    static func main() async {
        self.openStandardStreams()
        // The arguments are read from /proc. If they are lost, do not serve with the defaults instead.
        guard !CommandLine.arguments.isEmpty else {
            Nestd.printMessage("cannot read the command line: is /proc mounted?")
            exit(78)
        }
        // A store holds session ids, which are secrets.
        umask(0o077)
        // Dispatch requests priorities that only root may have, and writes to the system's log each time that it does
        // not get one.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments.first {
        case "token": TokenCommand.main(Array(arguments.dropFirst()))
        case "migrate": MigrateCommand.main(Array(arguments.dropFirst()))
        default: await Nestd.main(arguments)
        }
    }

    /// Opens /dev/null in place of closed standard streams. Otherwise the next file or socket would get the number of a
    /// standard stream, and the log would be written into a client's socket or a file of the store.
    private static func openStandardStreams() {
        var descriptor: Int32
        repeat { descriptor = open("/dev/null", O_RDWR) } while (0...STDERR_FILENO).contains(descriptor)
        if descriptor >= 0 { close(descriptor) }
    }
}
