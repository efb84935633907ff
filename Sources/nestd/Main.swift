import ArgumentParser
import Glibc

/// Serves, or does what `nestd token` says: whose options are its own, and not those of the server.
@main
enum Main {
    static func main() async {
        self.openStandardStreams()
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "token" {
            TokenCommand.main(Array(arguments.dropFirst()))
        } else {
            await Nestd.main()
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
