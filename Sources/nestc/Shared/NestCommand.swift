import ArgumentParser
import NestClient
import NestModel

/// A command that talks to a server.
protocol NestCommand: AsyncParsableCommand {
    var global: GlobalOptions { get }
    /// Changes the settings of the client that the options specify.
    func configure(_ configuration: inout ClientConfiguration)
    func run(_ client: NestClient, _ output: inout Output) async throws
}

/// A command whose writes belong to the group that it runs in.
protocol WritingCommand: NestCommand {}

extension NestCommand {
    mutating func run() async throws {
        let command = self
        var output = Output()
        var configuration = try command.global.configuration()
        command.configure(&configuration)
        try await NestClient.withClient(configuration) { client in
            do {
                try await NamedRefusal.naming(client) { try await command.runInGroup(client, &output) }
            } catch let error as NestError {
                throw await client.namingLeader(in: error)
            }
        }
        try output.flush()
    }

    func configure(_ configuration: inout ClientConfiguration) {}

    private func runInGroup(_ client: NestClient, _ output: inout Output) async throws {
        if self is any WritingCommand { try await GroupVariable.join(client) }
        try await self.run(client, &output)
    }

    /// Prints a message for the user, unless `--quiet` is given: with `--json`, as a line `{"note":"…"}`.
    func note(_ text: String) { self.global.note(text) }
}

extension NestClient {
    /// Adds the address to an error of a node that is not the one that the user named.
    fileprivate func namingLeader(in error: NestError) async -> NestError {
        let address = await self.address
        guard !self.configuration.names(address), error.connectFault == nil else { return error }
        var error = error
        error.message += " (at \(address), which leads the cluster)"
        return error
    }
}

extension ClientConfiguration {
    /// Whether the user named this server.
    func names(_ address: ServerAddress) -> Bool {
        self.endpoints.contains { $0.host == address.host && $0.port == address.port }
    }
}

/// The built-in nested list in a server's model.
enum Outline {
    /// Returns the predicate that leaves out the root object of an entity, or the root of the token's scope; empty if
    /// there is none.
    static func withoutRoot(of entity: EntityDescription, _ client: NestClient) async -> FetchPredicate {
        let model = try? await client.model()
        let scope = await client.server?.confinement
        let isOfScope = scope.map { scope in
            model?.isKind(entity.number, of: scope.entity) ?? false
                || model?.isKind(scope.entity, of: entity.number) ?? false
        }
        guard let root = scope == nil ? entity.root?.object : isOfScope ?? false ? scope?.root : nil else {
            return .everything
        }
        return FetchPredicate(
            Comparison(path: PropertyPath(leaf: .object), operator: .notEqual, values: [.reference(root)])
        )
    }

    /// Whether this is the relationship from an item to its children.
    static func isChildren(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
        entity.name == "Item" && relationship.name == "children" && relationship.isToMany
    }
}

/// An id on the command line.
struct IDArgument: ExpressibleByArgument {
    let id: ObjectID

    init(_ id: ObjectID) {
        self.id = id
    }

    init?(argument: String) {
        let digits = argument.hasPrefix("#") ? String(argument.dropFirst()) : argument
        guard let value = Int64(digits), value > 0, value <= Limits.objectIDMax else { return nil }
        self.id = ObjectID(value)
    }

    var defaultValueDescription: String { "\(self.id)" }
}

/// A revision on the command line.
struct RevisionArgument: ExpressibleByArgument {
    let revision: Revision

    init?(argument: String) {
        guard let value = UInt64(argument), value <= UInt64(Limits.objectIDMax) else { return nil }
        self.revision = Revision(value)
    }
}
