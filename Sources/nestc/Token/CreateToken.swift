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
        abstract: "Create a token.",
        discussion: """
            Examples:
              nestc token create laptop --role admin -o ~/.config/nest/admin.token
              nestc token create guest --root 7 --connections 2     print the token
              nestc token create ann-phone --user Ann --expires 30d

            A token with the role read can view and follow objects. write can also edit and undo, and admin can also \
            create and revoke tokens. With --root, the token's scope is one object and everything below it: the client \
            can neither see nor change other objects, and errors do not mention them. A limit lowers the server's own \
            limit, for each connection with the token; 0 is the server's limit.

            --user is who uses the token: history, changes, clients and undo show it. Without it they show the token's \
            name. --expires is a time from now, such as 90m, 12h, 30d or 52w, or a date. Then the token's connections \
            end and it is refused.
            """
    )

    @Argument(help: "A name for the token.")
    var name: String

    // The parser would show a default as the number that the protocol has for it.
    @Option(help: "The role of the token. (default: write)")
    var role: AccessRole?

    @Option(help: ArgumentHelp("The token's scope: this object and all below it.", valueName: "id"))
    var root: IDArgument?

    @Option(help: "The relationship from --root to the objects below it. (default: the only one)")
    var relationship: String?

    @Option(
        help: ArgumentHelp("When the token expires: 12h, 30d, 2027-01-31. (default: never)", valueName: "when")
    )
    var expires: String?

    @Option(help: "The maximum number of connections.")
    var connections = 0

    @Option(help: "The maximum number of requests in flight.")
    var requests = 0

    @Option(help: "The maximum number of subscriptions.")
    var subscriptions = 0

    @Option(help: "The maximum number of bytes that wait to be sent.")
    var outputBytes = 0

    @Option(
        name: [.short, .long],
        help: ArgumentHelp("Write the token to a new file, mode 0600.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        guard [self.connections, self.requests, self.subscriptions, self.outputBytes].allSatisfy({ $0 >= 0 }) else {
            throw ValidationError("a limit must be 0 or more")
        }
        guard self.root != nil || self.relationship == nil else {
            throw ValidationError("--relationship needs --root")
        }
        _ = try self.expiry()
    }

    private func expiry() throws -> Int64? {
        do {
            return try self.expires.map { text throws(DateFault) in try TokenExpiry.microseconds(text, .local) }
        } catch {
            throw ValidationError("--expires: \(error.message)")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        if let path = self.output, access(path, F_OK) == 0 {
            throw CommandFailure(.configuration, "\(path) already exists")
        }
        let role = self.role ?? .write
        let grant = TokenGrant(
            name: self.name,
            role: role,
            confinement: try await self.confinement(client),
            limits: TokenLimits(
                connections: self.connections,
                requestsInFlight: self.requests,
                subscriptions: self.subscriptions,
                outputBytes: self.outputBytes
            ),
            user: self.global.connect.user ?? "",
            expires: try self.expiry()
        )
        let token = try await client.createToken(grant)
        if let path = self.output { try PrivateFile.write(Array("\(token.text)\n".utf8), to: path, isNew: true) }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("token", token.number)
                    json.field("name", self.name)
                    json.field("role", "\(role)")
                    json.field("user", grant.label?.text ?? "")
                    json.key("expires")
                    if let expires = grant.expires {
                        json.string(DateText.text(microseconds: expires))
                    } else {
                        json.null()
                    }
                    if self.output == nil { json.field("secret", token.text) }
                }
            )
        } else if let path = self.output {
            self.note("wrote token \(token.number) to \(path)")
        } else {
            try output.line(token.text)
            self.note("this is token \(token.number); it is not shown again")
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
            switch (ways.isEmpty, self.relationship) {
            case (true, _): throw CommandFailure(.usage, "\(entity.name) has no relationship to objects below it")
            case (false, let wrong?):
                throw CommandFailure(
                    .usage,
                    "\(entity.name).\(wrong) does not lead to the objects below it: use --relationship with \(names)"
                )
            case (false, nil):
                throw CommandFailure(
                    .usage,
                    "\(entity.name) has several relationships to objects below it: specify --relationship: \(names)"
                )
            }
        }
        return AccessConfinement(root: root, entity: entity.number, relationship: way.number)
    }
}

extension ManagedObjectModel {
    /// Returns the relationships that form a hierarchy: an object has many objects of its kind below it, and each has
    /// one above.
    fileprivate func waysDown(from entity: EntityDescription) -> [RelationshipDescription] {
        entity.relationships.filter { way in
            guard way.isToMany, !way.isHiddenInverse, let destination = self.entity(way.destination),
                let back = destination.relationship(way.inverse), !back.isToMany
            else { return false }
            return self.isKind(entity.number, of: destination.number)
                || self.isKind(destination.number, of: entity.number)
        }
    }
}
