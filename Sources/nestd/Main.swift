import ArgumentParser
import Glibc
import NestModel

/// Serves, or runs `nestd token`, `nestd migrate`, `nestd adopt` or `nestd cluster`, which have their own options and
/// not those of the server.
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
        var arguments = Array(CommandLine.arguments.dropFirst())
        // `nestd help` and `nestd help token create`, as for nestc.
        if arguments.first == "help" { arguments = Array(arguments.dropFirst()) + ["--help"] }
        self.checkCommand(arguments)
        switch arguments.first {
        case "token": TokenCommand.main(Array(arguments.dropFirst()))
        case "migrate": MigrateCommand.main(Array(arguments.dropFirst()))
        case "adopt": AdoptCommand.main(Array(arguments.dropFirst()))
        case "cluster": ClusterCommand.main(Array(arguments.dropFirst()))
        default: await Nestd.main(arguments)
        }
    }

    /// Ends nestd if the arguments name a command that does not exist; the parser would not suggest the nearest one.
    private static func checkCommand(_ arguments: [String]) {
        let groups: [String: [any ParsableCommand.Type]] = [
            "token": TokenCommand.configuration.subcommands,
            "cluster": ClusterCommand.configuration.subcommands,
        ]
        var names = ["token", "migrate", "adopt", "cluster"]
        var path: [String] = []
        while let name = arguments.dropFirst(path.count).first, !name.hasPrefix("-") {
            let typed = (path + [name]).joined(separator: " ")
            guard names.contains(name) || name == "help" else {
                let near = NearestName.find(name, among: names)
                    .map { "Did you mean '\((path + [$0]).joined(separator: " "))'?" }
                let page = (["nestd"] + path + ["--help"]).joined(separator: " ")
                Nestd.printMessage("there is no command '\(typed)'. \(near ?? "See '\(page)'.")")
                exit(64)
            }
            guard path.isEmpty, let commands = groups[name] else { return }
            names = commands.map { $0._commandName }
            path.append(name)
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
