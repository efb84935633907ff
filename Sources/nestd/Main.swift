import ArgumentParser
import Glibc

/// Serves, or does what `nestd token` says: whose options are its own, and not those of the server.
@main
enum Main {
    static func main() async {
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
}
