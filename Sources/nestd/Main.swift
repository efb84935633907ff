import ArgumentParser
import Glibc

/// Serves, or does what `nestd token` says: whose options are its own, and not those of the server.
@main
enum Main {
    static func main() async {
        self.openStandardStreams()
        // They are read from /proc; to serve with the defaults is not what somebody asked for whose words are lost.
        guard !CommandLine.arguments.isEmpty else {
            Nestd.tell("the command line cannot be read: is /proc mounted?")
            exit(78)
        }
        // A store holds session ids, which are secrets.
        umask(0o077)
        // Dispatch asks for priorities that only root may have, and tells the system's log each time that it did not get one.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "token" {
            TokenCommand.main(Array(arguments.dropFirst()))
        } else {
            await Nestd.main(arguments)
        }
    }

    /// What is opened next gets the lowest number that is free: where a standard stream is closed, that could be a client's
    /// socket or a file of the store, and the log would be written into it.
    private static func openStandardStreams() {
        var descriptor: Int32
        repeat { descriptor = open("/dev/null", O_RDWR) } while (0...STDERR_FILENO).contains(descriptor)
        if descriptor >= 0 { close(descriptor) }
    }
}
