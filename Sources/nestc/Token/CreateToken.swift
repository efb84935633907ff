import ArgumentParser
import NestClient
import NestDocuments
import NestModel

extension AccessRole: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }

    public static var allValueStrings: [String] { self.allCases.map(\.description) }
}

struct CreateTokenCommand: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a token.",
        discussion: """
            Examples:
              nestc token create laptop --role admin -o ~/.config/nest/admin.token
              nestc token create guest --root 7 --connections 2     to standard output

            read looks and follows, write edits and undoes too, admin makes and revokes tokens as well. With --root the token \
            reaches one object and what is below it: nothing else is seen, changed, or told of in errors. A limit lowers the \
            server's own, for each connection with the token.
            """
    )

    @Argument(help: "What it is called, for you.")
    var name: String

    @Option(help: "What it allows.")
    var role = AccessRole.write

    @Option(help: ArgumentHelp("The object that it is confined to, with what is below.", valueName: "id"))
    var root: IDArgument?

    @Option(help: "The relationship that leads down from --root. Default: the only one there is.")
    var relationship: String?

    @Option(help: "Connections at the same time.")
    var connections = 0

    @Option(help: "Requests in flight.")
    var requests = 0

    @Option(help: "Subscriptions.")
    var subscriptions = 0

    @Option(help: "Bytes that may wait to be sent.")
    var outputBytes = 0

    @Option(name: [.short, .long], help: ArgumentHelp("Write it to a new file, mode 0600.", valueName: "file"))
    var output: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard [self.connections, self.requests, self.subscriptions, self.outputBytes].allSatisfy({ $0 >= 0 }) else {
            throw ValidationError("a limit is a number above 0")
        }
        guard self.root != nil || self.relationship == nil else {
            throw ValidationError("--relationship belongs to --root")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        if let path = self.output, access(path, F_OK) == 0 {
            throw CommandFailure(.configuration, "\(path) is there already")
        }
        let grant = TokenGrant(
            name: self.name,
            role: self.role,
            confinement: try await self.confinement(client),
            limits: TokenLimits(
                connections: self.connections,
                requestsInFlight: self.requests,
                subscriptions: self.subscriptions,
                outputBytes: self.outputBytes
            )
        )
        let token = try await client.createToken(grant)
        if let path = self.output { try PrivateFile.write(Array("\(token.text)\n".utf8), to: path, isNew: true) }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("token", token.number)
                    json.field("name", self.name)
                    json.field("role", "\(self.role)")
                    if self.output == nil { json.field("secret", token.text) }
                }
            )
        } else if let path = self.output {
            self.note("token \(token.number) is in \(path)")
        } else {
            try output.line(token.text)
            self.note("token \(token.number): it is not shown again")
        }
    }

    private func confinement(_ client: NestClient) async throws -> AccessConfinement? {
        guard let root = self.root?.id else { return nil }
        let model = try await client.model()
        let object = try await client.object(root)
        guard let entity = model.entity(object.entity) else {
            throw CommandFailure(.refused, "the model has changed: try again")
        }
        let ways = model.waysDown(from: entity)
        let found = self.relationship.map { name in ways.filter { $0.name == name } } ?? ways
        guard found.count == 1, let way = found.first else {
            let names = ways.map(\.name).joined(separator: ", ")
            throw CommandFailure(
                .usage,
                ways.isEmpty
                    ? "\(entity.name) has no relationship that leads down to others of its kind"
                    : "say which way leads down with --relationship: \(names)"
            )
        }
        return AccessConfinement(root: root, entity: entity.number, relationship: way.number)
    }
}

extension ManagedObjectModel {
    /// The relationships of an entity by which its objects are above others of their kind.
    fileprivate func waysDown(from entity: EntityDescription) -> [RelationshipDescription] {
        entity.relationships.filter { way in
            guard way.isToMany, let destination = self.entity(way.destination),
                let back = destination.relationship(way.inverse), !back.isToMany
            else { return false }
            return self.isKind(entity.number, of: destination.number)
                || self.isKind(destination.number, of: entity.number)
        }
    }
}
