import ArgumentParser

/// The commands of nestd. They are parsed apart from the server: its --store and --model would take theirs.
struct NestdCommands: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestd",
        subcommands: [TokenCommand.self, MigrateCommand.self, AdoptCommand.self, ClusterCommand.self]
    )
}

/// The server and the commands together, for help, manual pages and completions.
struct NestdWhole: ParsableCommand {
    static let configuration: CommandConfiguration = {
        var configuration = Nestd.configuration
        configuration.subcommands = NestdCommands.configuration.subcommands
        return configuration
    }()

    @OptionGroup var server: Nestd
}
