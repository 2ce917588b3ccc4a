"""OpenSearch and Elasticsearch from Maven's jars: what differs between them, and how their jars are arranged for a node.

A distribution has the jars of its modules in folders of their own, with a descriptor and the permissions of each; Maven brings
one folder of jars. The modules here are those that a search over HTTP needs: the transport, and where Maven has them the
analyzers, updates and deletions by query, and scripts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from workers.devkit.jars import Server

Name = Literal["opensearch", "elasticsearch"]

_ALL: Final = ("java.security.AllPermission",)
#: Elasticsearch refuses modules that ask for all permissions.
_NETWORK: Final = (
    'java.net.SocketPermission "*", "accept,connect,listen,resolve"',
    'java.lang.RuntimePermission "accessDeclaredMembers"',
    'java.lang.RuntimePermission "getClassLoader"',
    'java.lang.RuntimePermission "setContextClassLoader"',
    'java.lang.reflect.ReflectPermission "suppressAccessChecks"',
    'java.io.FilePermission "/proc/sys/net/core/somaxconn", "read"',
)


@dataclass(frozen=True)
class Module:
    """A module's main class and the patterns of its jars."""

    main: str
    jars: tuple[str, ...]


@dataclass(frozen=True)
class Flavour:
    """A search engine: its jars, main class, the prefix of its Java properties, and its names of files and settings."""

    server: Server
    main: str
    properties: str
    modules: dict[str, Module]
    #: The setting with the names of the nodes that form a new cluster.
    founders: str
    #: What the security manager permits each module.
    permissions: tuple[str, ...]

    @property
    def name(self) -> str:
        """``opensearch`` or ``elasticsearch``."""
        return self.server.name.lower()

    def arrange(self, folder: Path) -> None:
        """Turn a folder of jars into the home of a node: ``lib``, ``modules`` and an empty ``plugins``."""
        for name, module in self.modules.items():
            home = folder / "modules" / name
            home.mkdir(parents=True)
            for pattern in module.jars:
                for jar in list(folder.glob(pattern)):
                    jar.rename(home / jar.name)
            descriptor = {
                "name": name,
                "description": name,
                "version": self.server.version,
                f"{self.name}.version": self.server.version,
                "java.version": "11",
                "classname": module.main,
            }
            (home / "plugin-descriptor.properties").write_text("".join(f"{key}={value}\n" for key, value in descriptor.items()))
            (home / "plugin-security.policy").write_text(
                "grant {\n" + "".join(f"  permission {each};\n" for each in self.permissions) + "};\n"
            )
        (folder / "plugins").mkdir()
        (folder / "lib").mkdir()
        for jar in list(folder.glob("*.jar")):
            jar.rename(folder / "lib" / jar.name)


_INSTEAD: Final = "use a cluster that runs already"
FLAVOURS: Final[dict[Name, Flavour]] = {
    "opensearch": Flavour(
        # Java 24 has no security manager, which OpenSearch 2 installs.
        Server("OpenSearch", "2.19.6", "opensearch.xml", _INSTEAD, java_below=24),
        "org.opensearch.bootstrap.OpenSearch",
        "opensearch",
        {
            "transport-netty4": Module("org.opensearch.transport.Netty4Plugin", ("transport-netty4-*", "netty-*")),
            "analysis-common": Module("org.opensearch.analysis.common.CommonAnalysisPlugin", ("analysis-common-*",)),
            "reindex": Module(
                "org.opensearch.index.reindex.ReindexPlugin",
                ("reindex-*", "opensearch-rest-client-*", "opensearch-ssl-config-*", "http*", "commons-*"),
            ),
            "lang-painless": Module(
                "org.opensearch.painless.PainlessPlugin",
                ("lang-painless-*", "opensearch-scripting-painless-spi-*", "antlr4-*", "asm-*"),
            ),
        },
        "cluster.initial_cluster_manager_nodes",
        _ALL,
    ),
    "elasticsearch": Flavour(
        Server("Elasticsearch", "7.17.29", "elasticsearch.xml", _INSTEAD, java_below=24),
        "org.elasticsearch.bootstrap.Elasticsearch",
        "es",
        {
            "transport-netty4": Module("org.elasticsearch.transport.Netty4Plugin", ("transport-netty4-*", "netty-*")),
            "reindex": Module(
                "org.elasticsearch.reindex.ReindexPlugin",
                ("reindex-*", "elasticsearch-rest-client-*", "elasticsearch-ssl-config-*", "http*", "commons-*"),
            ),
        },
        "cluster.initial_master_nodes",
        _NETWORK,
    ),
}
