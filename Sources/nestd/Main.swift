import ArgumentParser
import Glibc
import NestModel

/// Serves, or runs a command that has options of its own.
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
        // `nestd help token create` and `nestd token help create`.
        let groups = NestdCommands.configuration.subcommands.filter { !$0.configuration.subcommands.isEmpty }
        let isOfGroup = groups.contains { $0._commandName == arguments.first }
        if let help = arguments.prefix(isOfGroup ? 2 : 1).firstIndex(of: "help") {
            arguments.remove(at: help)
            arguments.append("--help")
        }
        self.checkCommand(arguments)
        let describes = ["-h", "--help", "--experimental-dump-help", "--generate-completion-script"]
        if let first = arguments.first, !first.hasPrefix("-") {
            NestdCommands.main(arguments)
        } else if arguments.contains(where: describes.contains) {
            NestdWhole.main(arguments)
        } else {
            await Nestd.main(arguments)
        }
    }

    /// Ends nestd if its arguments name a command that does not exist; the parser would not suggest the nearest one.
    private static func checkCommand(_ arguments: [String]) {
        var commands = NestdCommands.configuration.subcommands
        var path: [String] = []
        while let name = arguments.dropFirst(path.count).first, !name.hasPrefix("-"), !commands.isEmpty {
            guard let command = commands.first(where: { $0._commandName == name }) else {
                let near = NearestName.find(name, among: commands.map { $0._commandName })
                    .map { "Did you mean '\((path + [$0]).joined(separator: " "))'?" }
                let typed = (path + [name]).joined(separator: " ")
                let page = (["nestd"] + path + ["--help"]).joined(separator: " ")
                Nestd.printMessage("there is no command '\(typed)'. \(near ?? "See '\(page)'.")")
                exit(64)
            }
            path.append(name)
            commands = command.configuration.subcommands
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
