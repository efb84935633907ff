import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct RunTransaction: WritingCommand {
    static let configuration = CommandConfiguration(
        commandName: "tx",
        abstract: "Run steps from standard input as one transaction.",
        discussion: """
            Example:
              nestc tx - <<END
              {"findOrCreate":"Tag","match":{"name":"red"},"as":"red"}
              {"insert":"User","values":{"name":"Ann","tags":["red",7]},"as":"ann"}
              {"insert":"Phone","values":{"number":"555 12","user":"ann"},"place":"first"}
              END

            Each line is one step, a JSON object:
              {"insert":ENTITY,"values":{…},"place":PLACE,"in":RELATIONSHIP,"as":NAME}
              {"findOrCreate":ENTITY,"match":{…},"values":{…},"as":NAME}
              {"update":OBJECT,"values":{…}}
              {"relate":OBJECT,"relationship":NAME,"objects":[OBJECT,…],"place":PLACE}
              {"unrelate":OBJECT,"relationship":NAME,"objects":[OBJECT,…]}
              {"delete":OBJECT}
              {"expect":ID,"revision":N}        refuse if ID has changed since

            OBJECT is an id, or a string with the name that an earlier step has by "as". PLACE is "first", "last", \
            {"at":3}, {"before":OBJECT} or {"after":OBJECT}. All steps are stored, or none. nestc prints each object \
            that was inserted or found on one line.
            """
    )

    @Argument(help: ArgumentHelp("'-' for standard input.", valueName: "-"))
    var source: String

    @OptionGroup var writing: WriteOptions
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.source != "-" { throw ValidationError("'tx' reads standard input: nestc tx - < FILE") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var lines = try JSONLines()
        var script = TransactionScript(model: try await client.model(), client: client)
        while let members = try lines.next() {
            do {
                try await script.add(members)
            } catch let failure as CommandFailure where failure.status == .usage {
                throw CommandFailure(.badInput, "line \(lines.line): \(failure.message)")
            }
            guard script.mutations.count <= Limits.mutationsPerTransactionMax else {
                throw CommandFailure(
                    .badInput,
                    "line \(lines.line): a transaction has at most \(Limits.mutationsPerTransactionMax) steps; "
                        + "nothing was stored"
                )
            }
        }
        guard !script.mutations.isEmpty else { throw CommandFailure(.badInput, "the input has no steps") }
        let receipt = try await client.transaction(
            WriteTransaction(
                name: self.writing.name,
                key: try self.writing.identifier(),
                preconditions: script.preconditions,
                mutations: script.mutations
            )
        )
        try self.print(receipt, script.results, &output)
    }

    private func print(_ receipt: Receipt, _ results: [TransactionScript.Result], _ output: inout Output) throws {
        let found = results.enumerated().compactMap { index, result in
            receipt.result(index + 1).map { (name: result.name, id: $0.id, isFound: $0.isFound) }
        }
        guard !self.global.json else {
            try output.line(
                .object { json in
                    receipt.writeFields(into: &json)
                    json.key("results")
                    json.array(found) { json, result in
                        json.object { json in
                            json.key("as")
                            if let name = result.name { json.string(name) } else { json.null() }
                            json.field("id", result.id.rawValue)
                            json.field("created", !result.isFound)
                        }
                    }
                }
            )
            return
        }
        for result in found {
            let name = result.name.map { "\t\(output.shown($0))" } ?? ""
            try output.line("\(result.id)\t\(result.isFound ? "found" : "created")\(name)")
        }
        if !receipt.isChanged { self.note("nothing to change") }
    }
}
