import NestDocuments
import NestModel

/// The state of a cluster as `nestc cluster status` prints it.
struct ClusterReport {
    let status: ClusterStatus

    func print(_ output: inout Output) throws {
        for (name, text) in self.lines {
            let padding = String(repeating: " ", count: 7 - name.count)
            try output.line("\(output.dim(name))\(padding)\(output.shown(text))")
        }
        guard !self.status.nodes.isEmpty else { return }
        try TextTable(header: ["node", "address", "role", "position", "lag", "clients", "version"], rows: self.rows)
            .print(&output)
    }

    /// What is above the table: names and texts.
    var lines: [(String, String)] {
        let store = "\(self.status.store), epoch \(self.status.epoch)"
        var lines = [("store", store)]
        if self.status.nodes.isEmpty {
            let position = ShownText.number(Int(self.status.position))
            lines.append(("node", "\(self.status.node), \(self.status.role) at position \(position)"))
        }
        lines.append(("log", self.status.log.isEmpty ? "no answer" : self.status.log))
        return lines
    }

    var rows: [[String]] {
        self.status.nodes.map { node in
            [
                node.name, node.address, self.role(node),
                self.position(node).map { ShownText.number(Int($0)) } ?? "–", self.lag(node),
                node.clients.map { ShownText.number($0) } ?? "–", node.version,
            ]
        }
    }

    private func role(_ node: ClusterStatus.Node) -> String {
        guard let role = node.role else { return "gone" }
        return node.isDrained ? "\(role), drained" : "\(role)"
    }

    /// The records that the log has.
    private var recordCount: Int { Int(max(0, self.status.head - self.status.base)) }

    /// The node that answered knows its own position, and the leader has written the newest record. The others' are as
    /// old as their notes.
    private func position(_ node: ClusterStatus.Node) -> Int64? {
        if self.isAnswering(node) { return self.status.position }
        return node.role == .leader ? self.status.head : node.position
    }

    private func isAnswering(_ node: ClusterStatus.Node) -> Bool {
        node.name == self.status.node && node.role == self.status.role
    }

    private func behind(_ node: ClusterStatus.Node) -> Int64? {
        self.position(node).map { max(0, self.status.head - $0) }
    }

    private func lag(_ node: ClusterStatus.Node) -> String {
        guard node.role != .leader, let behind = self.behind(node) else { return "–" }
        if behind > 0 { return "\(ShownText.number(Int(behind))) behind" }
        guard self.isAnswering(node), let lag = self.status.lag else { return "none" }
        let tenths = (lag + 50) / 100
        return "\(ShownText.number(Int(tenths / 10))).\(tenths % 10) ms"
    }

    var json: JSONWriter {
        .object { json in
            json.field("store", self.status.store)
            json.field("node", self.status.node)
            json.field("role", "\(self.status.role)")
            json.field("epoch", self.status.epoch)
            json.field("drained", self.status.isDrained)
            json.field("position", self.status.position)
            json.field("head", self.status.head)
            json.optional("lagMicroseconds", self.status.lag)
            json.key("log")
            if self.status.log.isEmpty { json.null() } else { json.string(self.status.log) }
            json.key("logFault")
            if let fault = self.status.logFault { json.string(fault) } else { json.null() }
            json.field("records", self.recordCount)
            json.key("snapshot")
            if let snapshot = self.status.snapshot {
                json.object { json in
                    json.field("position", snapshot.position)
                    json.field("made", DateText.text(microseconds: snapshot.made))
                    json.field("bytes", snapshot.byteCount)
                }
            } else {
                json.null()
            }
            json.key("nodes")
            json.array(self.status.nodes) { json, node in
                json.object { json in
                    json.field("node", node.name)
                    json.field("address", node.address)
                    json.field("role", node.role.map { "\($0)" } ?? "gone")
                    json.optional("position", self.position(node))
                    json.optional("behind", self.behind(node))
                    json.optional("clients", node.clients.map { Int64($0) })
                    json.field("version", node.version)
                    json.field("drained", node.isDrained)
                }
            }
        }
    }
}

extension JSONWriter {
    mutating func optional(_ name: String, _ value: Int64?) {
        self.key(name)
        if let value { self.integer(value) } else { self.null() }
    }
}
