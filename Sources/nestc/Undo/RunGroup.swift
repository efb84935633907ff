import ArgumentParser
import NestClient
import NestModel

struct RunGroup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "group",
        abstract: "Run a command whose writes are one undo entry.",
        discussion: """
            Examples:
              nestc group 'tidy up' -- sh -c 'nestc add Milk; nestc rm 7'
              nestc group 'night shift' -- ./night-shift.sh
              nestc undo                                        undoes all of it

            The command runs with NEST_GROUP, NEST_SESSION, NEST_SERVER, NEST_CONTEXT, NEST_TOKEN_FILE and NEST_USER \
            set. Each nestc that it starts, and each program that joins the group of that number, writes into the same undo \
            entry. If the command fails, its writes stay. In a group, another group is part of the first.

            The exit code is that of the command. It is 1 if the group ended before the command did: the server was \
            restarted, or nothing was written for five minutes. Later writes are refused.
            """
    )

    @Argument(help: ArgumentHelp("The name of the undo entry.", valueName: "name"))
    var name: String

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command to run, after '--'.", valueName: "command"))
    var command: [String] = []

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.command.isEmpty {
            throw ValidationError(
                "specify the command to run: nestc group 'tidy up' -- sh -c 'nestc add Milk; nestc rm 7'"
            )
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
        var variables = try self.global.connect.variables()
        variables[GroupVariable.name] = "\(number)"
        variables["NEST_SESSION"] = try await client.session().hex
        let child = ChildCommand(self.command, variables: variables)
        // The group ends with its connection, so the command must not inherit the connection's descriptor.
        try OpenFiles.keepFromChildren(notIn: inherited)
        let status = try await child.run()
        do {
            try await client.endGroup()
        } catch {
            guard error.code == .notFound else { throw error }
            throw ChildEnded(
                status: status == 0 ? ExitStatus.refused.rawValue : status,
                message: "the group ended before the command did: \(error.message)"
            )
        }
        if status != 0 { throw ChildEnded(status: status) }
    }
}
