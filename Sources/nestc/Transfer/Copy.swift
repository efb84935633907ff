import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Copy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cp",
        abstract: "Copy an item and all below it, also between servers.",
        discussion: """
            Examples:
              nestc cp 7 2                   item 7 and all below it, under item 2
              nestc cp 7 2 --first --below   only the items below it
              nestc cp 7 1@127.0.0.1:7001    to item 1 of another server
              nestc cp 7@backup:7000 2       from another server
              nestc cp 7@home 1@work         between the servers of two contexts

            An item on another server is ID@SERVER: SERVER is the name of a context, or an address as for --server \
            ('nestc help context'). Other servers get the token and the TLS settings of their context only.

            The copy is the state of one revision. nestc copies it in chunks, as fast as the target accepts them, \
            without a file and at any size. It becomes one transaction and one undo entry, or nothing is stored.

            nestc copies the attributes that have the same name and type on both servers, and lists the others. It \
            refuses a copy that lacks a required attribute.
            """
    )

    @Argument(
        help: ArgumentHelp("The item to copy: ID or ID@SERVER.", valueName: "from"),
        transform: EndpointArgument.init
    )
    var source: EndpointArgument

    @Argument(
        help: ArgumentHelp("The parent of the copy: ID or ID@SERVER.", valueName: "to"),
        transform: EndpointArgument.init
    )
    var target: EndpointArgument

    @Flag(help: "Only the items below the item, not the item itself.")
    var below = false

    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var placing: PlaceOptions
    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func run() async throws {
        var output = Output()
        let from = try self.configuration(self.source)
        let to = try self.configuration(self.target)
        let receipt: Receipt
        let losses: [String]
        do {
            (receipt, losses) = try await NestClient.withClient(from) { source in
                try await NestClient.withClient(to) { target in
                    try await GroupVariable.join(target)
                    return try await NamedRefusal.naming(target) { try await self.copy(source, target) }
                }
            }
        } catch let error as NestError {
            throw self.explained(error, [(self.source, from), (self.target, to)])
        }
        if !self.global.quiet, !self.global.json { for loss in losses { printMessage(loss) } }
        try receipt.print(
            "copied",
            nothing: "the item has nothing below it",
            warnings: losses,
            inJSON: self.global.json,
            &output
        )
        try output.flush()
    }

    /// Returns an error with what the user can do about a server that is not that of the command: the options for TLS
    /// are not for it.
    private func explained(
        _ error: NestError,
        _ ends: [(item: EndpointArgument, configuration: ClientConfiguration)]
    ) -> any Error {
        guard let fault = error.connectFault,
            let item = ends.first(where: {
                $0.item.server != nil && $0.configuration.names(ServerAddress(host: fault.host, port: fault.port))
            })?.item, let server = item.server
        else { return error }
        let hint: String
        switch fault.reason {
        case .refused, .timedOut, .unreachable, .notNest, .silent, .closedEarly: return error
        case .unknownHost where SavedContext.isName(server):
            hint = "\nThere is no context '\(server)' either: 'nestc context list' lists them."
        case .plainServer where server.contains("://"):
            hint = "\nWrite its address with nest://, or with its port alone."
        default:
            hint =
                "\nThe options for TLS and the token are for the server of the command. Save the settings of this one, "
                + "'nestc context set NAME --server \(server) --tls-ca FILE', and write \(item.id)@NAME."
        }
        return NamedRefusal(error, nil, hint: hint)
    }

    private func configuration(_ endpoint: EndpointArgument) throws -> ClientConfiguration {
        guard let server = endpoint.server else { return try self.global.configuration() }
        // Token and TLS settings belong to one server. Another server has the settings of its context, or none.
        let file = try ContextFile.readIfAny()
        if file.contexts[server] != nil { return try self.global.configuration(file.context(server)) }
        let servers = try ConnectOptions.addresses(server, from: "\(endpoint.id)@\(server)")
        return try self.global.configuration(SavedContext(at: servers))
    }

    private func copy(_ source: NestClient, _ target: NestClient) async throws -> (Receipt, [String]) {
        let from = try await OutlineEntity(source, self.entity)
        let to = try await OutlineEntity(target, self.entity)
        try to.requireOrder()
        let common = try CommonAttributes(from.entity, to.entity)
        let request = SubtreeRequest(
            root: self.source.id,
            relationship: from.children.number,
            properties: common.source
        )
        let upload = SubtreeImport(
            key: try self.writing.identifier(),
            name: self.writing.name,
            entity: to.entity.number,
            placement: Placement(
                relationship: to.parent,
                owner: .object(self.target.id),
                place: self.placing.place
            ),
            properties: common.target
        )
        let topDepth = self.below || from.isRoot(self.source.id) ? 1 : 0
        var progress = Progress("copied", isShown: !self.global.quiet)
        do {
            let receipt = try await source.fetchSubtree(request) { subtree in
                guard subtree.rowCount > topDepth else {
                    return Receipt(revision: await target.server?.revision ?? Revision(0), isChanged: false)
                }
                var chunks = subtree.makeAsyncIterator()
                var rowCount = 0
                let receipt = try await target.importSubtree(upload) {
                    // Called when the target accepts more rows, so the source sends no faster than the target receives.
                    guard let rows = try await chunks.next(isolation: #isolation) else { return nil }
                    rowCount += rows.count
                    progress.update(items: rowCount, bytes: 0, of: .items(subtree.rowCount))
                    return rows.filter { $0.depth >= topDepth }.map {
                        SubtreeRow(depth: $0.depth - topDepth, id: nil, values: $0.values)
                    }
                }
                progress.finish(items: rowCount - topDepth, bytes: 0)
                return receipt
            }
            return (receipt, common.losses)
        } catch {
            progress.clear()
            throw error
        }
    }
}

/// The attributes that two entities share by name and type, in the same order.
struct CommonAttributes {
    private(set) var source: [PropertyNumber] = []
    private(set) var target: [PropertyNumber] = []
    /// Descriptions of the attributes that are left out.
    private(set) var losses: [String] = []

    init(_ from: EntityDescription, _ to: EntityDescription) throws {
        for attribute in from.attributes {
            let other = to.attributes.first { $0.name == attribute.name && $0.type.holds(attribute.type) }
            if let other {
                self.source.append(attribute.number)
                self.target.append(other.number)
            } else {
                self.losses.append(
                    "the attribute \(attribute.name) was left out: the target's \(to.name) has none of this type"
                )
            }
        }
        let missing = to.attributes.filter { attribute in
            !self.target.contains(attribute.number) && !attribute.isOptional && attribute.defaultValue.isNull
                && !attribute.defaultsToNow
        }
        guard missing.isEmpty, !self.source.isEmpty else {
            let names = missing.map(\.name).joined(separator: ", ")
            throw CommandFailure(
                .refused,
                missing.isEmpty
                    ? "the two servers' \(to.name) have no attribute in common"
                    : "the target's \(to.name) requires \(names), which the source does not have with that type"
            )
        }
    }
}
