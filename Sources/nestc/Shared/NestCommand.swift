import ArgumentParser
import NestClient
import NestModel

/// A command that talks to a server.
protocol NestCommand: AsyncParsableCommand {
    var global: GlobalOptions { get }
    func run(_ client: NestClient, _ output: inout Output) async throws
}

/// A command whose writes belong to the group that it runs in.
protocol WritingCommand: NestCommand {}

extension NestCommand {
    mutating func run() async throws {
        let command = self
        var output = Output()
        try await NestClient.withClient(try command.global.configuration()) { client in
            try await NamedRefusal.naming(client) { try await command.runInGroup(client, &output) }
        }
        try output.flush()
    }

    private func runInGroup(_ client: NestClient, _ output: inout Output) async throws {
        if self is any WritingCommand { try await GroupVariable.join(client) }
        try await self.run(client, &output)
    }

    /// Prints a message for the user, unless `--quiet` is given.
    func note(_ text: String) {
        if !self.global.quiet { printMessage(text) }
    }
}

/// The built-in nested list in a server's model.
struct Outline {
    let model: ManagedObjectModel
    let entity: EntityDescription
    let title: PropertyNumber
    let note: PropertyNumber?
    let done: PropertyNumber?
    let extra: PropertyNumber?
    let parent: PropertyNumber
    let children: PropertyNumber
    /// The item that commands use by default: the root of the outline, or the root of the token's scope.
    let top: ObjectID

    init(_ client: NestClient) async throws {
        self.model = try await client.model()
        guard let entity = self.model.entity(named: "Item"), let title = entity.propertyNumber(named: "title"),
            let parent = entity.propertyNumber(named: "parent"), let children = entity.propertyNumber(named: "children")
        else {
            throw CommandFailure(
                .refused,
                "this command needs an outline, but the server's model has no Item with title, parent and children; "
                    + "use insert, fetch, set, relate and rm for other objects"
            )
        }
        self.entity = entity
        self.title = title
        self.note = entity.propertyNumber(named: "note")
        self.done = entity.propertyNumber(named: "done")
        self.extra = entity.propertyNumber(named: "extra")
        self.parent = parent
        self.children = children
        self.top = try await StartObject.of(entity, children, in: self.model, client) ?? ObjectID(1)
    }

    /// Returns the request for the children of an item, in their order.
    func childrenRequest(of parent: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(entity: self.entity.number, source: FetchSource(object: parent, relationship: self.children))
    }

    /// Whether this is the relationship from an item to its children.
    static func isChildren(_ relationship: RelationshipDescription, of entity: EntityDescription) -> Bool {
        entity.name == "Item" && relationship.name == "children" && relationship.isToMany
    }

    func isRoot(_ id: ObjectID) -> Bool { self.entity.root?.object == id }
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
