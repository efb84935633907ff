import ArgumentParser
import NestClient
import NestModel

struct RunGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Run a command; everything that nestc writes in it is one undo entry.",
        discussion: """
            Examples:
              nestc group 'tidy up' -- sh -c 'nestc add Milk; nestc rm 7'
              nestc group 'night shift' -- ./night-shift.sh
              nestc undo                                        takes all of it back

            The command runs with NEST_GROUP, NEST_SESSION and NEST_SERVER set, so that each nestc that it starts, and each \
            program that joins the group of that number, writes into the same entry. What it writes stays when it fails. The exit \
            code is the command's; 1 when the group ended before it did (the server was restarted, or nothing was written for \
            five minutes): what is written after that is refused. In a group, another group is part of it.
            """
    )

    @Argument(help: ArgumentHelp("The name of the undo entry.", valueName: "name"))
    var name: String

    @Argument(parsing: .postTerminator, help: ArgumentHelp("What to run, after '--'.", valueName: "command"))
    var command: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.command.isEmpty {
            throw ValidationError("say what to run: nestc group 'tidy up' -- sh -c 'nestc add Milk; nestc rm 7'")
        }
    }

    func run() async throws {
        let inherited = try OpenFiles.descriptors()
        try await NestClient.withClient(try self.global.configuration()) { client in
            try await self.run(client, inherited)
        }
    }

    private func run(_ client: NestClient, _ inherited: Set<Int32>) async throws {
        let outer = try await GroupVariable.join(client)
        let number = if let outer { outer } else { try await client.beginGroup(self.name) }
        let configuration = client.configuration
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        let child = ChildCommand(
            self.command,
            variables: [
                GroupVariable.name: "\(number)", "NEST_SESSION": configuration.session.hex,
                "NEST_SERVER": "\(host):\(configuration.port)",
            ]
        )
        // The group ends with its connection, which the command must not hold.
        try OpenFiles.keepFromChildren(notIn: inherited)
        let status = try await child.run()
        do {
            try await client.endGroup()
        } catch {
            guard error.code == .notFound else { throw error }
            tell("the group ended before the command did: \(error.message)")
            throw ChildEnded(status: status == 0 ? ExitStatus.refused.rawValue : status)
        }
        if status != 0 { throw ChildEnded(status: status) }
    }
}
